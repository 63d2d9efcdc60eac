//! Extracts searchable text from files.
//!
//! Text files are used as they are. **Documents** (PDF, HTML, Word …) go through parsers that process untrusted bytes: they may
//! recurse, loop or allocate any amount of memory. [`DocumentKind::read`] therefore runs only in a helper process with limits
//! (`extraction`), never in the server.

mod blocks;
mod depth;
mod docx;
pub mod html;
mod office;
mod pdf;
mod xml;
mod zip;

use serde::{Deserialize, Serialize};

use crate::domain::RelPath;

pub use depth::{Depth, measure};

/// Version of document extraction; increase it when readers change. Documents that an older version refused are retried.
pub const VERSION: u32 = 1;

/// Maximum bytes of the text of one document.
pub const TEXT_LIMIT: usize = 8 << 20;

/// How the text of a document is structured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Markdown,
    /// Paragraphs between blank lines; also code and data.
    Plain,
}

/// The text of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub format: Format,
    /// Replaces the title that the text has.
    pub title: Option<String>,
    pub text: String,
    /// Whether `text` is the file itself, so that line numbers are the same in both.
    pub is_file: bool,
}

impl Document {
    /// Creates the document of a text file, with the format of its file name extension.
    pub fn of(path: &RelPath, text: impl Into<String>) -> Self {
        let format = match ending(path.file_name()).as_str() {
            "md" | "markdown" | "mdx" => Format::Markdown,
            _ => Format::Plain,
        };
        Self { format, title: None, text: text.into(), is_file: true }
    }

    /// Creates a document from Markdown that was extracted from a file.
    pub fn made(text: String) -> Self {
        Self { format: Format::Markdown, title: None, text, is_file: false }
    }
}

/// Why a file has no text. Stored in the index, so that the file is not read again until it changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", content = "detail", rename_all = "snake_case")]
pub enum Unreadable {
    #[error("Not a UTF-8 text file.")]
    NotUtf8,
    #[error("Not a text file: it contains null bytes.")]
    ZeroBytes,
    #[error("Damaged, or the content doesn't match the file extension.")]
    Damaged,
    #[error("Password-protected. Save it without a password.")]
    Encrypted,
    #[error("No text found. It may contain only scanned images.")]
    NoText,
    #[error("Nested too deeply to read.")]
    TooDeep,
    #[error("Reading it takes too much memory.")]
    MemoryLimit,
    #[error("Reading it takes too long.")]
    TimeLimit,
    #[error("Contains more than 8 MB of text. Split the file.")]
    TextLimit,
    #[error("Unpacks to more than 64 MB, or contains more than 4,096 files.")]
    ArchiveLimit,
    #[error("Larger than 10 MB. Split the file.")]
    FileLimit,
    /// The file itself cannot be opened; with the error message of the system.
    #[error("Can't open the file: {0}.")]
    NotOpened(String),
    /// Not the file's fault: reading is retried.
    #[error("Can't read documents right now: {0}.")]
    NoReader(String),
}

impl Unreadable {
    /// Returns the machine-readable name of the reason, for clients that translate it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotUtf8 => "not_utf8",
            Self::ZeroBytes => "zero_bytes",
            Self::Damaged => "damaged",
            Self::Encrypted => "encrypted",
            Self::NoText => "no_text",
            Self::TooDeep => "too_deep",
            Self::MemoryLimit => "memory_limit",
            Self::TimeLimit => "time_limit",
            Self::TextLimit => "text_limit",
            Self::ArchiveLimit => "archive_limit",
            Self::FileLimit => "file_limit",
            Self::NotOpened(_) => "not_opened",
            Self::NoReader(_) => "no_reader",
        }
    }

    /// Returns the error message of the system, if it is part of the reason.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::NotOpened(detail) | Self::NoReader(detail) => Some(detail),
            _ => None,
        }
    }
}

/// A kind of document that needs a parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DocumentKind {
    Pdf = 1,
    Html = 2,
    Docx = 3,
    Odt = 4,
    Pptx = 5,
}

impl DocumentKind {
    pub const ALL: [Self; 5] = [Self::Pdf, Self::Html, Self::Docx, Self::Odt, Self::Pptx];

    /// Returns the kind by the file name extension, or `None` for files that are read as text.
    pub fn of(path: &RelPath) -> Option<Self> {
        Self::of_name(path.file_name())
    }

    /// Returns the kind of a file with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        match ending(name).as_str() {
            "pdf" => Some(Self::Pdf),
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "docx" | "docm" => Some(Self::Docx),
            "odt" => Some(Self::Odt),
            "pptx" | "pptm" => Some(Self::Pptx),
            _ => None,
        }
    }

    /// Returns its text as Markdown. Call this only in a helper process: on some input it panics, never returns, overflows the
    /// stack or exhausts memory.
    ///
    /// # Errors
    /// Returns the reason why there is no text.
    pub fn read(self, bytes: &[u8]) -> Result<String, Unreadable> {
        let text = match self {
            Self::Pdf => pdf::markdown(bytes),
            Self::Html => html::markdown(text_of(bytes.to_vec())?.as_str()),
            Self::Docx => docx::markdown(bytes),
            Self::Odt => office::odt(bytes),
            Self::Pptx => office::pptx(bytes),
        }?;
        if text.len() > TEXT_LIMIT { Err(Unreadable::TextLimit) } else { Ok(text) }
    }
}

/// Returns the document of a text file.
///
/// # Errors
/// Returns an error if the bytes are not UTF-8 or contain zero bytes.
pub fn text(path: &RelPath, bytes: Vec<u8>) -> Result<Document, Unreadable> {
    text_of(bytes).map(|text| Document::of(path, text))
}

fn text_of(bytes: Vec<u8>) -> Result<String, Unreadable> {
    let text = String::from_utf8(bytes).map_err(|_| Unreadable::NotUtf8)?;
    if text.contains('\0') { Err(Unreadable::ZeroBytes) } else { Ok(text) }
}

fn ending(name: &str) -> String {
    name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads a document in this process; use it only on input that is known to be harmless.
    fn read(path: &str, bytes: &[u8]) -> Result<Document, Unreadable> {
        let path = RelPath::parse(path).unwrap();
        match DocumentKind::of(&path) {
            Some(kind) => kind.read(bytes).map(Document::made),
            None => text(&path, bytes.to_vec()),
        }
    }

    #[test]
    fn html_page_becomes_markdown() {
        let document =
            read("knowledge/a.HTML", b"<h1>Birds</h1><p>Penguins <b>swim</b>.</p><script>no()</script>").unwrap();
        assert_eq!((document.text.as_str(), document.format), ("# Birds\n\nPenguins **swim**.", Format::Markdown));
    }

    #[test]
    fn code_and_data_are_text() {
        for name in ["knowledge/a.json", "knowledge/a.csv", "knowledge/a.rs", "knowledge/README"] {
            let document = read(name, b"a,b\n1,2\n").unwrap();
            assert_eq!((document.format, document.is_file), (Format::Plain, true));
        }
    }

    #[test]
    fn unreadable_document_says_why() {
        for (name, bytes, why) in [
            ("knowledge/a.md", &b"\xff\xfe"[..], Unreadable::NotUtf8),
            ("knowledge/a.png", b"\x89PNG\0\x01", Unreadable::NotUtf8),
            ("knowledge/a.txt", b"a\0b", Unreadable::ZeroBytes),
            ("knowledge/a.pdf", b"%PDF-1.4 nonsense", Unreadable::Damaged),
            ("knowledge/b.pdf", b"", Unreadable::Damaged),
            ("knowledge/a.docx", b"", Unreadable::Damaged),
            ("knowledge/a.html", b"<p>", Unreadable::NoText),
        ] {
            assert_eq!(read(name, bytes), Err(why), "{name}");
        }
    }

    #[test]
    fn reasons_are_kept_with_their_codes() {
        for why in [Unreadable::TooDeep, Unreadable::NotOpened("it is a folder".to_owned())] {
            let kept = serde_json::to_value(&why).unwrap();
            assert_eq!((kept["code"].as_str(), kept["detail"].as_str()), (Some(why.code()), why.detail()));
            assert_eq!(serde_json::from_value::<Unreadable>(kept).unwrap(), why);
        }
    }

    proptest! {
        #[test]
        fn any_page_yields_text_or_reason(
            html in "(<(p|div|table|tr|td|script|style|!--|h1|a href=x|li|ul|pre|svg|textarea)>|</(p|div|table|script|h1|pre|ul)>|-->|&amp;|&#x[0-9a-f]{1,6};|[a-z ]{1,6}|é|\n|<|>){0,30}",
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            if let Ok(read) = read("knowledge/a.html", html.as_bytes()) {
                prop_assert!(!read.is_file && read.format == Format::Markdown);
            }
            for name in ["knowledge/a.md", "knowledge/a.json", "knowledge/a.html"] {
                if let Err(reason) = read(name, &bytes) {
                    prop_assert!(!reason.to_string().is_empty());
                }
            }
        }
    }
}
