//! Arguments of `windtunnel dump`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::dump::Class;

/// `windtunnel dump`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel dump must-gather.local.42                        the kinds, and the files that are not understood
  windtunnel dump insights.tar.gz --files                     every file
  windtunnel dump dump.zip --only not-collected               what its source could not collect

Exit codes: 0 printed; 2 wrong usage, or a dump without objects and alerts.")]
pub(in crate::cli) struct DumpArgs {
    /// Folder, archive or file of a dump.
    pub(in crate::cli) dump: PathBuf,
    /// List every file.
    #[arg(long)]
    pub(in crate::cli) files: bool,
    /// List the files of one class.
    #[arg(long, value_name = "CLASS")]
    pub(in crate::cli) only: Option<ClassName>,
    /// Format of the output [default: text].
    #[arg(long, short, value_name = "FORMAT", conflicts_with_all = ["files", "only"])]
    pub(in crate::cli) output: Option<ListingFormat>,
}

/// Formats of the listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ListingFormat {
    /// Every file, as JSON.
    Json,
}

/// Names of classes of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ClassName {
    /// Files with objects or alerts.
    Read,
    /// Logs and other files without objects.
    NoObject,
    /// Files that cannot be parsed, or with objects of unknown kinds.
    NotUnderstood,
    /// Reports about what could not be collected.
    NotCollected,
}

impl ClassName {
    /// Returns the class.
    pub(in crate::cli) fn class(self) -> Class {
        match self {
            Self::Read => Class::Read,
            Self::NoObject => Class::NoObject,
            Self::NotUnderstood => Class::NotUnderstood,
            Self::NotCollected => Class::NotCollected,
        }
    }
}
