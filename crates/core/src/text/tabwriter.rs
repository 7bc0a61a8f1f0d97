//! Columns as Go's `text/tabwriter` lays them out, left aligned and padded with blanks.
//!
//! Only a cell that a TAB ends takes part in a column; what follows the last TAB of a line is written as it is. A
//! column reaches over neighbouring lines that have it, so a line with fewer cells splits the table there.

/// The settings of a table.
#[derive(Debug, Clone, Copy)]
pub struct Columns {
    /// Narrowest column, padding included, in characters.
    pub min_width: usize,
    /// Blanks after the widest cell.
    pub padding: usize,
}

/// One line: the cells that a TAB ended, the text after them, and whether columns may go on in the next line.
struct Line<'a> {
    cells: Vec<&'a str>,
    rest: &'a str,
    ends_columns: bool,
}

impl Columns {
    /// Lays out a text. TAB and VT end a cell, LF a line, and FF a line and all columns.
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

    /// Writes lines whose columns end with them.
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

    /// Sets the widths of one column: each run of neighbouring lines that have it is as wide as its widest cell asks.
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
    fn cells_are_padded_by_characters_and_the_text_after_the_last_tab_is_not() {
        check(
            "NAME\tEST\tMESSAGE\né\t+10m\t\nnode-1\t?\tx y\n",
            "NAME     EST    MESSAGE\né        +10m   \nnode-1   ?      x y\n",
        );
    }

    #[test]
    fn a_line_without_tabs_and_an_empty_line_start_the_columns_anew() {
        check("aaaa\tb\nalone\na\tb\n\nccc\td\n", "aaaa   b\nalone\na   b\n\nccc   d\n");
    }

    #[test]
    fn a_form_feed_starts_the_columns_anew_and_a_vertical_tab_ends_a_cell() {
        check("aaaa\x0bb\x0ca\tb\n", "aaaa   b\na   b\n");
    }

    #[test]
    fn a_column_ends_where_a_line_lacks_it_while_those_left_of_it_go_on() {
        check("a\tlong\tx\nbb\ty\nc\tz\tx\n", "a    long   x\nbb   y\nc    z   x\n");
    }

    #[test]
    fn a_tab_inside_a_message_makes_a_column_of_its_beginning() {
        check(
            "N\tMESSAGE\nn\ttab\there\nm\tlonger\tend\n",
            "N   MESSAGE\nn   tab      here\nm   longer   end\n",
        );
    }

    #[test]
    fn a_minimal_width_counts_the_padding_and_an_open_last_line_stays_open() {
        let list = Columns { min_width: 14, padding: 1 };
        assert_eq!(list.layout("VERSION\tIMAGE\n4.17.3\tquay"), "VERSION       IMAGE\n4.17.3        quay");
        assert_eq!(list.layout("a-longer-version\tquay\n"), "a-longer-version quay\n");
        assert_eq!(list.layout(""), "");
    }
}
