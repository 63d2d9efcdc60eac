//! Pictures in a request: their names, the placeholders in a record, and the insertion of their bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::domain::Picture;
use crate::domain::picture::{Media, head};
use crate::provider::{ChatMessage, RequestPicture};

/// Maximum pictures in one request; if there are more, the newest are sent.
pub const MOST_SENT: usize = 12;
const MISSING: &str = "its file is missing or is not what was sent";
const TOO_MANY: &str = "not sent again, newer pictures take its place";
const MARKER: &str = "picture:";
/// Stands before the data in a URL.
const DATA: &str = ";base64,";
/// Begins the message with the pictures that calls read. Its role is that of a user, so it says that it is none's.
const FROM_TOOLS: &str = "[The pictures that the tools above have read; the user did not send them]";

/// Returns the label that refers to a picture in its message's text.
pub fn label(number: usize, name: &str) -> String {
    format!("[picture {number}: {name}]")
}

/// Returns the text of a message with the pictures that calls read, from their labels.
pub fn from_tools(pictures: &[RequestPicture]) -> String {
    let labels = pictures.iter().map(|seen| seen.label.as_str());
    std::iter::once(FROM_TOOLS).chain(labels).collect::<Vec<_>>().join("\n")
}

/// Returns whether a message's JSON contains the pictures that calls read, and not what a person said.
pub fn are_from_tools(message: &Value) -> bool {
    let says_so = |text: Option<&str>| text.is_some_and(|text| text.starts_with(FROM_TOOLS));
    match &message["content"] {
        // In Anthropic's API the results of the calls come before the pictures, in the same message.
        Value::Array(blocks) => {
            let mut rest = blocks.iter().filter(|block| block["type"] != "tool_result");
            rest.next().is_none_or(|first| says_so(first["text"].as_str()))
                && !rest.any(|block| block["text"].is_string())
        }
        content => says_so(content.as_str()),
    }
}

/// Returns the marker that stands for a picture's bytes: its type, size and hash.
pub fn marker(picture: &Picture) -> String {
    let Picture { media_type, hash, width, height, .. } = picture;
    format!("{MARKER}{};{width}x{height};{hash}", media_type.name())
}

/// Parses a marker into its picture. `bytes` is 0, because a marker does not contain it.
pub fn marked(marker: &str) -> Option<Picture> {
    let mut parts = marker.strip_prefix(MARKER)?.split(';');
    let (kind, size, hash) = (parts.next()?, parts.next()?, parts.next()?);
    let (width, height) = size.split_once('x')?;
    Some(Picture {
        media_type: Media::ALL.into_iter().find(|media| media.name() == kind)?,
        hash: hash.to_owned(),
        bytes: 0,
        width: width.parse().ok()?,
        height: height.parse().ok()?,
    })
}

/// Returns the bytes as a data URL; `None` if they are not a picture.
pub fn data_url(bytes: &[u8]) -> Option<String> {
    let kind = head(bytes)?.media.name();
    Some(format!("data:{kind};base64,{}", STANDARD.encode(bytes)))
}

/// Loads the bytes of the newest pictures by their hashes. A picture that cannot be read, or exceeds the limit, is
/// removed, and its label in the message's text says why.
pub fn load(history: &mut [ChatMessage], read: &dyn Fn(&str) -> Option<Vec<u8>>) {
    let mut left = MOST_SENT;
    for message in history.iter_mut().rev() {
        let ChatMessage::Pictured { content, pictures, .. } = message else { continue };
        for at in (0..pictures.len()).rev() {
            let url = match left {
                0 => Err(TOO_MANY),
                _ => read(&pictures[at].picture.hash).and_then(|bytes| data_url(&bytes)).ok_or(MISSING),
            };
            match url {
                Ok(url) => {
                    pictures[at].url = url.into();
                    left -= 1;
                }
                Err(why) => {
                    let RequestPicture { label, .. } = pictures.remove(at);
                    let told = format!("{}: {why}]", label.trim_end_matches(']'));
                    *content = content.replacen(&label, &told, 1);
                }
            }
        }
    }
}

/// Returns all pictures of a request.
pub fn of(messages: &[ChatMessage]) -> Vec<RequestPicture> {
    let pictures = messages.iter().filter_map(|message| match message {
        ChatMessage::Pictured { pictures, .. } => Some(pictures),
        ChatMessage::System(_) | ChatMessage::User(_) | ChatMessage::Assistant { .. } | ChatMessage::Tool { .. } => {
            None
        }
    });
    pictures.flatten().cloned().collect()
}

/// Returns the URLs of the pictures in a message's JSON; in Anthropic's API, their data without the beginning of a URL.
pub fn addresses(message: &mut Value) -> impl Iterator<Item = &mut Value> {
    let parts = message.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
    parts.filter_map(|part| {
        if part.get("source").is_some() {
            return part.get_mut("source")?.get_mut("data");
        }
        let address = part.get_mut("image_url")?;
        if address.is_string() { Some(address) } else { address.get_mut("url") }
    })
}

/// Returns the tokens of the pictures in a message's JSON as recorded, with markers.
pub fn tokens(message: &Value) -> usize {
    let parts = message.get("content").and_then(Value::as_array).into_iter().flatten();
    let address = |part: &Value| {
        let address = part.get("image_url").map(|address| address.get("url").unwrap_or(address));
        marked(address.or_else(|| part.get("source")?.get("data"))?.as_str()?)
    };
    parts.filter_map(address).map(|picture| picture.tokens()).sum()
}

/// Replaces the bytes of the pictures in a message's JSON with markers.
pub fn without_bytes(message: &mut Value, pictures: &[RequestPicture]) {
    for address in addresses(message) {
        let is_it = |seen: &RequestPicture, told: &str| {
            *seen.url == *told || seen.url.split_once(DATA).is_some_and(|(_, data)| data == told)
        };
        let known = address.as_str().and_then(|told| pictures.iter().find(|seen| is_it(seen, told)));
        if let Some(seen) = known {
            *address = marker(&seen.picture).into();
        }
    }
}

/// Replaces the markers in a message's JSON with the bytes; `None` if a picture is missing or has changed.
pub fn with_bytes(mut message: Value, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Option<Value> {
    let is_data =
        message["content"].as_array().is_some_and(|parts| parts.iter().any(|part| part.get("source").is_some()));
    for address in addresses(&mut message) {
        if let Some(picture) = address.as_str().and_then(marked) {
            let url = data_url(&read(&picture.hash)?)?;
            let data = url.split_once(DATA).map(|(_, data)| data.to_owned()).filter(|_| is_data);
            *address = data.unwrap_or(url).into();
        }
    }
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::PictureSender;

    const GIF: &[u8] = b"GIF89a\x03\x00\x02\x00\x00";

    fn seen(number: usize, hash: &str) -> RequestPicture {
        let picture = Picture { media_type: Media::Gif, hash: hash.to_owned(), bytes: 11, width: 3, height: 2 };
        RequestPicture { label: label(number, "a.gif"), url: marker(&picture).into(), picture }
    }

    fn message(hashes: &[&str]) -> ChatMessage {
        let pictures: Vec<_> = hashes.iter().zip(1..).map(|(hash, number)| seen(number, hash)).collect();
        let labels: Vec<&str> = pictures.iter().map(|seen| seen.label.as_str()).collect();
        let content = format!("{}\n\nLook.", labels.join("\n"));
        ChatMessage::Pictured { sender: PictureSender::Person, content, pictures }
    }

    #[test]
    fn unreadable_picture_is_named_and_others_are_sent() {
        let mut history = [message(&["gone", "here", "text"])];
        load(&mut history, &|hash| match hash {
            "here" => Some(GIF.to_vec()),
            "text" => Some(b"no picture".to_vec()),
            _ => None,
        });
        let [ChatMessage::Pictured { content, pictures, .. }] = &history else { panic!() };
        assert_eq!(
            content,
            "[picture 1: a.gif: its file is missing or is not what was sent]\n[picture 2: a.gif]\n\
             [picture 3: a.gif: its file is missing or is not what was sent]\n\nLook."
        );
        assert_eq!(pictures.iter().map(|seen| &*seen.url).collect::<Vec<_>>(), [data_url(GIF).unwrap()]);
        assert_eq!(data_url(GIF).unwrap(), "data:image/gif;base64,R0lGODlhAwACAAA=");
    }

    #[test]
    fn only_newest_pictures_are_sent() {
        let mut history: Vec<_> = (0..MOST_SENT + 1).map(|_| message(&["x"])).collect();
        load(&mut history, &|_| Some(GIF.to_vec()));
        let counts = history.iter().map(|message| of(std::slice::from_ref(message)).len()).collect::<Vec<_>>();
        assert_eq!(counts, [vec![0], vec![1; MOST_SENT]].concat());
        let ChatMessage::Pictured { content, .. } = &history[0] else { panic!() };
        assert!(content.starts_with("[picture 1: a.gif: not sent again"), "{content}");
    }

    #[test]
    fn picture_markers_round_trip_and_count_by_size() {
        let mut sent = message(&["x"]);
        load(std::slice::from_mut(&mut sent), &|_| Some(GIF.to_vec()));
        let pictures = of(std::slice::from_ref(&sent));
        let whole = serde_json::json!({"role": "user", "content": [{"type": "text", "text": "picture:image/png;1x1;x"},
            {"type": "image_url", "image_url": {"url": data_url(GIF)}}]});
        let mut kept = whole.clone();
        without_bytes(&mut kept, &pictures);
        assert_eq!(kept["content"][1]["image_url"]["url"], "picture:image/gif;3x2;x");
        assert_eq!(tokens(&kept), 85);
        assert_eq!(with_bytes(kept.clone(), &|hash| (hash == "x").then(|| GIF.to_vec())), Some(whole));
        assert_eq!(with_bytes(kept, &|_| None), None);
        let data = STANDARD.encode(GIF);
        for part in [
            serde_json::json!({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": data}}),
            serde_json::json!({"type": "input_image", "image_url": data_url(GIF)}),
        ] {
            let whole = serde_json::json!({"role": "user", "content": [{"type": "text", "text": "look"}, part]});
            let mut kept = whole.clone();
            without_bytes(&mut kept, &pictures);
            assert!(!kept.to_string().contains(&data) && tokens(&kept) > 0, "{kept}");
            assert_eq!(with_bytes(kept, &|hash| (hash == "x").then(|| GIF.to_vec())), Some(whole));
        }
    }
}
