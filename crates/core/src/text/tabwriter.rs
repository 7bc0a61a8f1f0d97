//! Lays out columns like Go's `text/tabwriter`, left-aligned and padded with blanks.
//!
//! Only a cell that ends with a TAB is part of a column; the text after the last TAB of a line is not padded.
//! A column spans adjacent lines that have it, so a line with fewer cells splits the table.

/// The settings of a layout.
#[derive(Debug, Clone, Copy)]
pub struct Columns {
    /// The minimum width of a column in characters, including the padding.
    pub min_width: usize,
    /// The number of blanks after the widest cell.
    pub padding: usize,
}

/// One line: the cells that end with a TAB, the text after them, and whether columns end with this line.
struct Line<'a> {
    cells: Vec<&'a str>,
    rest: &'a str,
    ends_columns: bool,
}

impl Columns {
    /// Lays out a text. TAB and VT end a cell, LF ends a line, and FF ends a line and all columns.
    pub fn layout(self, text: &str) -> String {
        let mut out = String::new();
        let mut block = Vec::new();
        for piece in text.split_inclusive(['\n', '\x0c']) {
            let body = piece.trim_end_matches(['\n', '\x0c']);
            let mut cells: Vec<&str> = body.split(['\t', '\x0b']).collect();
            let rest = cells.pop().unwrap_or_default();
            let line = Line { ends_columns: cells.is_empty() || piece.ends_with('\x0c'), cells, rest };
            let last = line.ends_columns;
            block.push(line);
            if last {
                self.flush(&mut block, &mut out);
            }
        }
        self.flush(&mut block, &mut out);
        if !text.ends_with(['\n', '\x0c']) {
            out.pop();
        }
        out
    }

    /// Writes a block of lines that share no columns with later lines.
    fn flush(self, block: &mut Vec<Line<'_>>, out: &mut String) {
        let mut widths: Vec<Vec<usize>> = block.iter().map(|line| vec![0; line.cells.len()]).collect();
        let columns = block.iter().map(|line| line.cells.len()).max().unwrap_or(0);
        for column in 0..columns {
            self.measure(column, block, &mut widths);
        }
        for (line, widths) in block.drain(..).zip(widths) {
            for (cell, width) in line.cells.iter().zip(widths) {
                out.push_str(cell);
                out.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
            }
            out.push_str(line.rest);
            out.push('\n');
        }
    }

    /// Sets the widths of one column. Each run of adjacent lines that have it is as wide as its widest cell
    /// requires.
    fn measure(self, column: usize, block: &[Line<'_>], widths: &mut [Vec<usize>]) {
        let has = |line: &Line<'_>| line.cells.len() > column;
        let mut from = 0;
        for run in block.chunk_by(|one, next| has(one) == has(next)) {
            let until = from + run.len();
            let widest =
                run.iter().filter_map(|line| line.cells.get(column)).map(|cell| cell.chars().count());
            if let Some(widest) = widest.max() {
                let width = self.min_width.max(widest + self.padding);
                for line in widths.iter_mut().take(until).skip(from) {
                    line[column] = width;
                }
            }
            from = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let table = Columns { min_width: 0, padding: 3 };
        assert_eq!(table.layout(text), expected, "{text:?}");
    }

    #[test]
    fn pads_cells_by_characters_but_not_the_text_after_the_last_tab() {
        check(
            "NAME\tEST\tMESSAGE\né\t+10m\t\nnode-1\t?\tx y\n",
            "NAME     EST    MESSAGE\né        +10m   \nnode-1   ?      x y\n",
        );
    }

    #[test]
    fn a_line_without_tabs_and_an_empty_line_restart_the_columns() {
        check("aaaa\tb\nalone\na\tb\n\nccc\td\n", "aaaa   b\nalone\na   b\n\nccc   d\n");
    }

    #[test]
    fn a_form_feed_restarts_the_columns_and_a_vertical_tab_ends_a_cell() {
        check("aaaa\x0bb\x0ca\tb\n", "aaaa   b\na   b\n");
    }

    #[test]
    fn a_line_without_a_column_ends_it_but_not_the_columns_to_its_left() {
        check("a\tlong\tx\nbb\ty\nc\tz\tx\n", "a    long   x\nbb   y\nc    z   x\n");
    }

    #[test]
    fn a_tab_inside_a_message_starts_another_column() {
        check(
            "N\tMESSAGE\nn\ttab\there\nm\tlonger\tend\n",
            "N   MESSAGE\nn   tab      here\nm   longer   end\n",
        );
    }

    #[test]
    fn the_minimum_width_includes_the_padding_and_no_newline_is_added() {
        let list = Columns { min_width: 14, padding: 1 };
        assert_eq!(list.layout("VERSION\tIMAGE\n4.17.3\tquay"), "VERSION       IMAGE\n4.17.3        quay");
        assert_eq!(list.layout("a-longer-version\tquay\n"), "a-longer-version quay\n");
        assert_eq!(list.layout(""), "");
    }
}
