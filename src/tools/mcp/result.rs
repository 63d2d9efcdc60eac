//! The result of a call as the model reads it. All of it is text from outside.

use serde_json::{Value, json};

use crate::clock;
use crate::domain::visible::{is_hidden, visible};
use crate::domain::{Taint, ToolAnswer};
use crate::store::Home;

/// Maximum characters that the model reads of a result; the rest is in a file.
pub const MAX_CHARACTERS: usize = 25_000;

/// Returns the answer of a call.
pub async fn answer(home: &Home, (server, tool): (&str, &str), result: &Value) -> ToolAnswer {
    if result["resultType"] == "input_required" {
        return ToolAnswer::failed(format!(
            "the server {server} asks for more input, which cannot be given here. Nothing is known to have happened."
        ));
    }
    let text = text_of(result);
    let is_error = result["isError"] == true;
    let characters = text.chars().count();
    let text = if characters > MAX_CHARACTERS { shortened(home, server, text).await } else { text };
    let tool = visible(tool);
    let message = match is_error {
        true => format!("{tool} of {server} failed"),
        false => format!("{tool} of {server} answered"),
    };
    let data = json!({"server": server, "tool": tool, "characters": characters});
    ToolAnswer { ok: !is_error, message, text, ..ToolAnswer::default() }.with_data(data).with_source(Taint::Outside)
}

fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut parts: Vec<String> = blocks.iter().map(block).collect();
    let structured = &result["structuredContent"];
    // Servers repeat structured content as text for clients that do not know it.
    if parts.is_empty() && !structured.is_null() {
        parts.push(structured.to_string());
    }
    if parts.is_empty() {
        return "[no content]".to_owned();
    }
    written_out(&parts.join("\n"))
}

fn block(block: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let bytes = |value: &Value| value.as_str().map_or(0, |coded| coded.len() / 4 * 3);
    match block["type"].as_str().unwrap_or_default() {
        "text" => text(&block["text"]),
        kind @ ("image" | "audio") => {
            format!("[{kind} {}, about {} bytes, not shown]", text(&block["mimeType"]), bytes(&block["data"]))
        }
        "resource_link" => format!("[link to the resource {}]", text(&block["uri"])),
        "resource" => {
            let resource = &block["resource"];
            match resource["text"].as_str() {
                Some(content) => format!("[resource {}]\n{content}", text(&resource["uri"])),
                None => {
                    format!(
                        "[resource {}, about {} bytes, not shown]",
                        text(&resource["uri"]),
                        bytes(&resource["blob"])
                    )
                }
            }
        }
        _ => "[content of an unknown kind]".to_owned(),
    }
}

/// Writes out invisible characters, which could hide instructions. Tabs and line breaks stay.
fn written_out(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' | '\t' => out.push(char),
            '\r' => {}
            char if is_hidden(char) => out.push_str(&visible(&char.to_string())),
            char => out.push(char),
        }
    }
    out
}

async fn shortened(home: &Home, server: &str, text: String) -> String {
    let end = text.char_indices().nth(MAX_CHARACTERS).map_or(text.len(), |(at, _)| at);
    let (home, name) = (home.clone(), format!("{server}-{}.txt", &clock::new_secret()[..12]));
    let begun = text[..end].to_owned();
    let kept = tokio::task::spawn_blocking(move || home.keep_mcp_result(&name, &text)).await;
    match kept {
        Ok(Ok(path)) => format!("{begun}\n[cut to 25,000 characters; all of it is in {path}]"),
        Ok(Err(_)) | Err(_) => format!("{begun}\n[cut to 25,000 characters]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_becomes_text() {
        let result = json!({"content": [
            {"type": "text", "text": "a\tb\u{200b}\r\n"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource_link", "uri": "file:///x"},
            {"type": "resource", "resource": {"uri": "file:///y", "text": "why"}},
            {"type": "hologram"},
        ], "structuredContent": {"a": 1}});
        assert_eq!(
            text_of(&result),
            "a\tb\\u200b\n\n[image image/png, about 3 bytes, not shown]\n[link to the resource file:///x]\n\
             [resource file:///y]\nwhy\n[content of an unknown kind]"
        );
        assert_eq!(text_of(&json!({"structuredContent": {"a": 1}})), "{\"a\":1}");
        assert_eq!(text_of(&json!({"content": "x"})), "[no content]");
    }
}
