//! Turns a response into text for the model.

use encoding_rs::{Encoding, UTF_8};

use super::get::Fetched;
use super::json;
use crate::extraction::{Extractor, Page};
use crate::retrieval::extract::Unreadable;

/// Why a response has no text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPageText {
    #[error("it is {kind}, {bytes} bytes; only web pages, JSON and text can be read")]
    NotText { kind: String, bytes: usize },
    #[error("its HTML could not be turned into text: {0}")]
    Html(Unreadable),
}

/// A decoded body, before HTML is extracted and JSON indented.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    Html(String),
    Json(String),
    Text(String),
}

pub async fn text(fetched: &Fetched, extractor: &Extractor) -> Result<Page, NoPageText> {
    match content(fetched)? {
        Content::Html(html) => extractor.page(&fetched.url, html).await.map_err(NoPageText::Html),
        Content::Json(json) => Ok(Page { title: None, text: json::readable(json).await }),
        Content::Text(text) => Ok(Page { title: None, text }),
    }
}

fn content(fetched: &Fetched) -> Result<Content, NoPageText> {
    let kind = kind(&fetched.content_type);
    let is_text = matches!(
        kind.as_str(),
        "application/xml"
            | "application/javascript"
            | "application/yaml"
            | "application/x-yaml"
            | "application/toml"
            | "application/x-ndjson"
            | "application/jsonl"
            | "application/sql"
            | "application/x-sh"
    ) || kind.starts_with("text/")
        || kind.ends_with("+xml")
        || kind.ends_with("+yaml");
    if is_html(&kind, &fetched.body) {
        return Ok(Content::Html(decode(fetched)));
    }
    if matches!(kind.as_str(), "application/json" | "text/json") || kind.ends_with("+json") {
        return Ok(Content::Json(decode(fetched)));
    }
    // A response without a content type, or with the generic one, may still be text.
    let unsaid = matches!(kind.as_str(), "" | "application/octet-stream") && looks_like_text(&fetched.body);
    if is_text || unsaid {
        return Ok(Content::Text(decode(fetched)));
    }
    let kind = if kind.is_empty() { "of unknown type".to_owned() } else { kind };
    Err(NoPageText::NotText { kind, bytes: fetched.body.len() })
}

/// Returns the media type without its parameters.
fn kind(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_html(kind: &str, body: &[u8]) -> bool {
    let start = || String::from_utf8_lossy(&body[..body.len().min(256)]).trim_start().to_ascii_lowercase();
    matches!(kind, "text/html" | "application/xhtml+xml")
        || (kind.is_empty() && ["<!doctype html", "<html"].iter().any(|tag| start().starts_with(tag)))
}

fn looks_like_text(body: &[u8]) -> bool {
    let start = &body[..body.len().min(1024)];
    !start.contains(&0) && (std::str::from_utf8(start).is_ok() || body.len() > 1024)
}

/// Decodes the body by its byte order mark, or else the charset in the header, or else the one named in the page, or else
/// UTF-8.
fn decode(fetched: &Fetched) -> String {
    let named = charset(&fetched.content_type).or_else(|| {
        let start = &fetched.body[..fetched.body.len().min(2048)];
        charset(&String::from_utf8_lossy(start).to_ascii_lowercase())
    });
    named.unwrap_or(UTF_8).decode(&fetched.body).0.into_owned()
}

fn charset(text: &str) -> Option<&'static Encoding> {
    let (_, label) = text.split_once("charset=")?;
    let label = label.trim_start_matches(['"', '\'']);
    let end = label.find(['"', '\'', ';', ' ', '>', '/', '\n']).unwrap_or(label.len());
    Encoding::for_label(&label.as_bytes()[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::StatusCode;

    fn read(content_type: &str, body: &[u8]) -> Result<Content, NoPageText> {
        let url = "http://example.com/".parse().unwrap();
        let content_type = content_type.to_owned();
        content(&Fetched { url, status: StatusCode::OK, content_type, body: body.into() })
    }

    fn text(text: &str) -> Result<Content, NoPageText> {
        Ok(Content::Text(text.to_owned()))
    }

    #[test]
    fn json_is_distinguished_from_text() {
        let json = |text: &str| Ok(Content::Json(text.to_owned()));
        assert_eq!(read("application/json", br#"{"a":1}"#), json(r#"{"a":1}"#));
        assert_eq!(read("application/ld+json", b"{broken"), json("{broken"));
        assert_eq!(read("text/plain; charset=utf-8", b"<b>x</b>\n"), text("<b>x</b>\n"));
        assert_eq!(read("", b"hello"), text("hello"));
        let page = "<!DOCTYPE html><p>hello <b>you</b>";
        assert_eq!(read("", page.as_bytes()), Ok(Content::Html(page.to_owned())));
    }

    #[test]
    fn binary_page_is_named() {
        for (kind, body) in [("image/png", b"\x89PNG".as_slice()), ("application/pdf", b"%PDF"), ("", b"\0\x01\xff")] {
            let refused = read(kind, body);
            assert!(
                matches!(&refused, Err(NoPageText::NotText { bytes, .. }) if *bytes == body.len()),
                "{kind} {refused:?}"
            );
        }
    }

    #[test]
    fn charset_is_read_from_header_or_page() {
        let gbk = b"\xca\xfd\xbe\xdd";
        assert_eq!(read("text/plain; charset=gbk", gbk), text("数据"));
        assert_eq!(read("text/plain; charset=\"GB2312\"", gbk), text("数据"));
        let page =
            [b"<html><head><meta charset=\"gbk\"></head><body><p>".as_slice(), gbk, b"</p></body></html>"].concat();
        assert!(matches!(read("text/html", &page), Ok(Content::Html(page)) if page.contains("数据")));
        assert_eq!(read("text/plain", "数据".as_bytes()), text("数据"));
    }
}
