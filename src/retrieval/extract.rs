//! Files as text that can be searched.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::domain::HomePath;

/// How long a PDF may take, and how deep its parser may go, in bytes of stack.
const PDF_TIME: Duration = Duration::from_secs(20);
const PDF_STACK: usize = 64 << 20;

/// How the text of a document is built.
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
    pub text: String,
    /// Whether `text` is the file itself, so that lines of one are lines of the other.
    pub is_file: bool,
}

impl Document {
    /// A file that is text already.
    pub fn of(path: &HomePath, text: impl Into<String>) -> Self {
        let format = match ending(path).as_str() {
            "md" | "markdown" | "mdx" => Format::Markdown,
            _ => Format::Plain,
        };
        Self { format, text: text.into(), is_file: true }
    }

    fn made(text: String) -> Self {
        Self { format: Format::Markdown, text, is_file: false }
    }
}

/// Reads a file by its ending: PDF and HTML are turned into Markdown, everything else must be UTF-8.
///
/// # Errors
/// Why there is no text, as a sentence for the person whose file it is.
pub fn document(path: &HomePath, bytes: Vec<u8>) -> Result<Document, String> {
    match ending(path).as_str() {
        "pdf" => pdf(bytes).map(Document::made),
        "html" | "htm" | "xhtml" => {
            html(&plain(bytes)?).map(Document::made).map_err(|error| format!("The page could not be read: {error}."))
        }
        _ => Ok(Document::of(path, plain(bytes)?)),
    }
}

fn html(page: &str) -> std::io::Result<String> {
    let skipped = vec!["script", "style", "noscript", "template", "svg"];
    htmd::HtmlToMarkdown::builder().skip_tags(skipped).build().convert(page)
}

fn plain(bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|_| "It is not UTF-8 text.".to_owned())?;
    if text.contains('\0') {
        return Err("It is not text: it holds zero bytes.".to_owned());
    }
    Ok(text)
}

/// One section a page. The parser meets files from anywhere: it may panic, recurse deeply, or not come to an end. What
/// takes too long is left to itself.
fn pdf(bytes: Vec<u8>) -> Result<String, String> {
    let (done, pages) = mpsc::channel();
    let read = move || {
        let pages = pdf_extract::extract_text_from_mem_by_pages(&bytes);
        let _ = done.send(pages.map_err(|error| format!("The PDF could not be read: {error}.")));
    };
    let reader = thread::Builder::new().name("pdf".to_owned()).stack_size(PDF_STACK).spawn(read);
    reader.map_err(|error| format!("The PDF could not be read: {error}."))?;
    let pages = match pages.recv_timeout(PDF_TIME) {
        Ok(pages) => pages?,
        Err(mpsc::RecvTimeoutError::Timeout) => return Err("The PDF took too long to read.".to_owned()),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            return Err("The PDF could not be read: it is damaged or of an unknown kind.".to_owned());
        }
    };
    let mut text = String::new();
    for (number, page) in pages.iter().enumerate().filter(|(_, page)| !page.trim().is_empty()) {
        text.push_str(&format!("## Page {}\n\n{}\n\n", number + 1, page.trim()));
    }
    if text.is_empty() {
        return Err("The PDF holds no text: it may be scanned pictures.".to_owned());
    }
    Ok(text)
}

fn ending(path: &HomePath) -> String {
    path.file_name().rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(path: &str, bytes: &[u8]) -> Result<Document, String> {
        document(&HomePath::parse(path).unwrap(), bytes.to_vec())
    }

    /// The smallest PDF with one page of text per entry.
    fn pdf_of(pages: &[&str]) -> Vec<u8> {
        let kids: Vec<String> = (0..pages.len()).map(|n| format!("{} 0 R", 10 + 2 * n)).collect();
        let mut objects = vec![
            (1, "<</Type/Catalog/Pages 2 0 R>>".to_owned()),
            (2, format!("<</Type/Pages/Count {}/Kids[{}]>>", pages.len(), kids.join(" "))),
            (3, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned()),
        ];
        for (n, text) in pages.iter().enumerate() {
            let (page, body) = (10 + 2 * n, 11 + 2 * n);
            let stream = format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET");
            objects.push((
                page,
                format!(
                    "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents {body} 0 R>>"
                ),
            ));
            objects.push((body, format!("<</Length {}>>stream\n{stream}\nendstream", stream.len())));
        }
        let mut out = b"%PDF-1.4\n".to_vec();
        let mut offsets = Vec::new();
        for (number, body) in &objects {
            offsets.push((*number, out.len()));
            out.extend(format!("{number} 0 obj\n{body}\nendobj\n").bytes());
        }
        let table = out.len();
        out.extend(b"xref\n");
        for (number, offset) in &offsets {
            out.extend(format!("{number} 1\n{offset:010} 00000 n \n").bytes());
        }
        out.extend(format!("trailer<</Size 99/Root 1 0 R>>\nstartxref\n{table}\n%%EOF").bytes());
        out
    }

    #[test]
    fn a_pdf_becomes_a_section_a_page() {
        let document = read("knowledge/a.pdf", &pdf_of(&["Penguins cannot fly.", "", "Ostriches run."])).unwrap();
        let text = document.text;
        assert!(
            text.contains("## Page 1\n\nPenguins cannot fly.") && text.contains("## Page 3\n\nOstriches run."),
            "{text}"
        );
        assert!(!document.is_file && !text.contains("Page 2"));
    }

    #[test]
    fn a_page_of_html_becomes_markdown() {
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
    fn what_cannot_be_read_says_why() {
        for (name, bytes, why) in [
            ("knowledge/a.md", &b"\xff\xfe"[..], "UTF-8"),
            ("knowledge/a.png", b"\x89PNG\0\x01", "UTF-8"),
            ("knowledge/a.txt", b"a\0b", "zero bytes"),
            ("knowledge/a.pdf", b"%PDF-1.4 nonsense", "PDF"),
            ("knowledge/b.pdf", b"", "PDF"),
        ] {
            let error = read(name, bytes).unwrap_err();
            assert!(error.contains(why), "{name}: {error}");
        }
        let error = read("knowledge/c.pdf", &pdf_of(&[""])).unwrap_err();
        assert!(error.contains("no text"), "{error}");
    }

    proptest! {
        #[test]
        fn any_page_is_text_or_a_reason(
            html in "(<(p|div|table|tr|td|script|style|!--|h1|a href=x|li|ul|pre|svg|textarea)>|</(p|div|table|script|h1|pre|ul)>|-->|&amp;|&#x[0-9a-f]{1,6};|[a-z ]{1,6}|é|\n|<|>){0,30}",
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            if let Ok(read) = read("knowledge/a.html", html.as_bytes()) {
                prop_assert!(!read.is_file && read.format == Format::Markdown);
            }
            for name in ["knowledge/a.md", "knowledge/a.json", "knowledge/a.html"] {
                if let Err(reason) = read(name, &bytes) {
                    prop_assert!(!reason.is_empty());
                }
            }
        }
    }
}
