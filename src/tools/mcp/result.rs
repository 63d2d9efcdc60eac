//! The result of a call as the model reads it. All of it is text from outside.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use crate::clock;
use crate::domain::picture::{
    MOST_PICTURE_BYTES, MOST_PICTURES_TOGETHER, MOST_SIDE, PICTURE, PICTURES, PictureHeader, head, is_complete,
};
use crate::domain::visible::{is_hidden, visible};
use crate::domain::{NewPicture, Picture, SessionId, Taint, ToolAnswer};
use crate::store::{Home, StoreError, picture_hash};
use crate::tools::KeepPictures;

/// Maximum characters that the model reads of a result; the rest is in a file.
pub const MAX_CHARACTERS: usize = 25_000;
/// Maximum number of pictures of a result.
const MAX_PICTURES: usize = 4;

/// Where the files of a result go, and whose conversation gets its pictures.
pub struct ResultFiles<'a> {
    pub home: &'a Home,
    /// Absent for a call of a person, which belongs to no conversation.
    pub pictures: Option<(&'a KeepPictures, &'a SessionId)>,
}

/// Returns the answer of a call.
pub async fn answer(files: ResultFiles<'_>, (server, tool): (&str, &str), result: &Value) -> ToolAnswer {
    if result["resultType"] == "input_required" {
        return ToolAnswer::failed(format!(
            "the server {server} asks for more input, which cannot be given here. Nothing is known to have happened."
        ));
    }
    let mut pictures = Pictures::default();
    let text = text_of(result, &mut |block| pictures.add(server, block));
    let is_error = result["isError"] == true;
    let characters = text.chars().count();
    let mut text = if characters > MAX_CHARACTERS { shortened(files.home, server, text).await } else { text };
    let tool = visible(tool);
    let message = match is_error {
        true => format!("{tool} of {server} failed"),
        false => format!("{tool} of {server} answered"),
    };
    let mut data = json!({"server": server, "tool": tool, "characters": characters});
    match pictures.keep(files).await {
        Ok(kept) if kept.is_empty() => {}
        Ok(kept) => data[PICTURES] = Value::Object(kept),
        Err(error) => {
            tracing::warn!(%error, server, "the pictures of a result could not be kept");
            text.push_str("\n[the pictures could not be kept]");
        }
    }
    ToolAnswer { ok: !is_error, message, text, ..ToolAnswer::default() }.with_data(data).with_source(Taint::Outside)
}

/// The pictures of a result that can be shown.
#[derive(Default)]
struct Pictures {
    found: Vec<(String, Picture, NewPicture)>,
    bytes: usize,
}

impl Pictures {
    /// Returns what the model reads in place of a picture.
    fn add(&mut self, server: &str, block: &Value) -> String {
        match self.read(block) {
            Ok((picture, new)) => {
                let name = format!("{server}-{}.{}", &clock::new_secret()[..12], picture.media_type.extension());
                let Picture { media_type, bytes, width, height, .. } = &picture;
                let text = format!(
                    "[image {width} × {height}, {}, {bytes} bytes, in scratch/mcp-results/{name}]",
                    media_type.name()
                );
                self.found.push((name, picture, new));
                text
            }
            Err(why) => format!(
                "[image {}, about {} bytes, not shown: {why}]",
                text_field(&block["mimeType"]),
                size(&block["data"])
            ),
        }
    }

    fn read(&mut self, block: &Value) -> Result<(Picture, NewPicture), String> {
        if self.found.len() >= MAX_PICTURES {
            return Err(format!("a result has up to {MAX_PICTURES} pictures"));
        }
        if size(&block["data"]) > MOST_PICTURE_BYTES + 3 {
            return Err("it is larger than 1.5 MiB".to_owned());
        }
        let bytes = BASE64_STANDARD.decode(block["data"].as_str().unwrap_or_default());
        let bytes = bytes.map_err(|_| "it is damaged".to_owned())?;
        let PictureHeader { media: media_type, width, height } =
            head(&bytes).ok_or("it is no PNG, JPEG, WebP or GIF picture")?;
        if width.max(height) > MOST_SIDE || self.bytes + bytes.len() > MOST_PICTURES_TOGETHER {
            return Err("it is too large".to_owned());
        }
        if !is_complete(&bytes) {
            return Err("it is damaged".to_owned());
        }
        self.bytes += bytes.len();
        let hash = picture_hash(&bytes);
        let picture = Picture { media_type, hash: hash.clone(), bytes: bytes.len() as u64, width, height };
        Ok((picture, NewPicture { hash, bytes: bytes.into() }))
    }

    /// Keeps the pictures as files of scratch/, and with the conversation. Returns what the record says of them.
    async fn keep(self, ResultFiles { home, pictures }: ResultFiles<'_>) -> Result<Map<String, Value>, StoreError> {
        if self.found.is_empty() {
            return Ok(Map::new());
        }
        let (home, names) = (home.clone(), self.found.iter().map(|(name, ..)| name.clone()).collect::<Vec<_>>());
        let bytes: Vec<_> = self.found.iter().map(|(.., new)| new.bytes.clone()).collect();
        let kept = tokio::task::spawn_blocking(move || {
            let each = names.iter().zip(&bytes).map(|(name, bytes)| home.keep_mcp_result(name, bytes));
            each.collect::<Result<Vec<_>, _>>()
        });
        let paths = kept.await.map_err(|_| StoreError::ShutDown)??;
        let Some((keep, session)) = pictures else { return Ok(Map::new()) };
        let new = self.found.iter().map(|(.., new)| new.clone()).collect();
        keep(session.clone(), new).await?;
        let records =
            { paths.into_iter().zip(self.found) }.map(|(path, (_, picture, _))| (path, json!({PICTURE: picture})));
        Ok(records.collect())
    }
}

fn text_of(result: &Value, image: &mut dyn FnMut(&Value) -> String) -> String {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut parts: Vec<String> = blocks.iter().map(|part| block(part, image)).collect();
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

fn text_field(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns about how many bytes a text in base64 stands for.
fn size(value: &Value) -> usize {
    value.as_str().map_or(0, |coded| coded.len() / 4 * 3)
}

fn block(block: &Value, image: &mut dyn FnMut(&Value) -> String) -> String {
    match block["type"].as_str().unwrap_or_default() {
        "text" => text_field(&block["text"]),
        "image" => image(block),
        "audio" => {
            format!("[audio {}, about {} bytes, not played]", text_field(&block["mimeType"]), size(&block["data"]))
        }
        "resource_link" => {
            let title = block["title"].as_str().or(block["name"].as_str()).unwrap_or_default();
            format!("[link to the resource {title} at {}, not followed]", text_field(&block["uri"]))
        }
        "resource" => {
            let resource = &block["resource"];
            let uri = text_field(&resource["uri"]);
            match resource["text"].as_str() {
                Some(content) => format!("[resource {uri}]\n{content}"),
                None => format!(
                    "[resource {uri}, {}, about {} bytes, not shown]",
                    text_field(&resource["mimeType"]),
                    size(&resource["blob"])
                ),
            }
        }
        _ => "[content of an unknown kind]".to_owned(),
    }
}

/// Writes out invisible characters, which could hide instructions. Tabs and line breaks stay.
pub(super) fn written_out(text: &str) -> String {
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
    let kept = tokio::task::spawn_blocking(move || home.keep_mcp_result(&name, text.as_bytes())).await;
    match kept {
        Ok(Ok(path)) => format!("{begun}\n[cut to 25,000 characters; all of it is in {path}]"),
        Ok(Err(_)) | Err(_) => format!("{begun}\n[cut to 25,000 characters]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::picture::complete_png;

    #[test]
    fn content_becomes_text() {
        let result = json!({"content": [
            {"type": "text", "text": "a\tb\u{200b}\r\n"},
            {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
            {"type": "resource_link", "uri": "file:///x", "name": "x", "title": "The X"},
            {"type": "resource", "resource": {"uri": "file:///y", "text": "why"}},
            {"type": "resource", "resource": {"uri": "file:///z", "mimeType": "application/pdf", "blob": "AAAA"}},
            {"type": "hologram"},
        ], "structuredContent": {"a": 1}});
        let text_of = |result: &Value| text_of(result, &mut |_| "[image]".to_owned());
        assert_eq!(
            text_of(&result),
            "a\tb\\u200b\n\n[audio audio/wav, about 3 bytes, not played]\n\
             [link to the resource The X at file:///x, not followed]\n[resource file:///y]\nwhy\n\
             [resource file:///z, application/pdf, about 3 bytes, not shown]\n[content of an unknown kind]"
        );
        assert_eq!(text_of(&json!({"structuredContent": {"a": 1}})), "{\"a\":1}");
        assert_eq!(text_of(&json!({"content": "x"})), "[no content]");
    }

    #[test]
    fn only_pictures_within_the_bounds_are_shown() {
        let png = BASE64_STANDARD.encode(complete_png(2, 3));
        let image = |data: &str| json!({"type": "image", "mimeType": "image/png", "data": data});
        let mut pictures = Pictures::default();
        assert!(pictures.add("pets", &image(&png)).starts_with("[image 2 × 3, image/png, "));
        for (data, why) in [
            ("!", "damaged"),
            ("AAAA", "no PNG"),
            (&png[..png.len() / 8 * 4], "damaged"),
            (&"A".repeat(4 << 20), "larger than 1.5 MiB"),
        ] {
            let said = pictures.add("pets", &image(data));
            assert!(said.contains(why), "{said}");
        }
        for _ in 0..3 {
            pictures.add("pets", &image(&png));
        }
        assert!(pictures.add("pets", &image(&png)).contains("up to 4 pictures"));
    }
}
