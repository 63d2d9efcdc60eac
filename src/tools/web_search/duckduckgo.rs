//! The results on DuckDuckGo's page without scripts. The page is scanned for the links of results, not parsed as HTML: what
//! cannot be found is left out, and no input takes more than one pass.

use url::Url;

use super::SearchResult;

const LINK: &str = "class=\"result__a\"";
const SNIPPET: &str = "class=\"result__snippet\"";

/// Returns the results; `None` if the page is not one of results, such as a question whether a person searches.
pub fn results(page: &str) -> Option<Vec<SearchResult>> {
    if page.contains("anomaly-modal") || page.contains("anomaly.js") {
        return None;
    }
    let parts: Vec<&str> = page.split(LINK).collect();
    if parts.len() == 1 {
        // A page without results says so.
        return page.contains("no-results").then(Vec::new);
    }
    // A part begins after the class of its link, whose address stands on either side of it.
    let result = |pair: &[&str]| {
        let [before, after] = pair else { return None };
        let tag = before.rfind('<').map_or("", |start| &before[start..]);
        let end = after.find('>')?;
        let address = attribute(&after[..end], "href").or_else(|| attribute(tag, "href"))?;
        let title = &after[end + 1..];
        let title = &title[..title.find("</a>")?];
        let snippet = after.find(SNIPPET).and_then(|start| {
            let inside = &after[start..];
            let inside = &inside[inside.find('>')? + 1..];
            let end = inside.find("</a>").or_else(|| inside.find("</div>"))?;
            Some(&inside[..end])
        });
        SearchResult::new(title, &target(&text_of(address))?, snippet.unwrap_or_default())
    };
    Some(parts.windows(2).filter_map(result).collect())
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// Returns the page to which a link of the results leads; `None` for advertisements.
fn target(address: &str) -> Option<String> {
    let base = Url::parse("https://duckduckgo.com/").ok()?;
    let url = base.join(address).ok()?;
    let is_own = url.host_str().is_some_and(|host| host == "duckduckgo.com" || host.ends_with(".duckduckgo.com"));
    if !is_own {
        return Some(url.to_string());
    }
    if url.path() != "/l/" {
        return None;
    }
    let target = url.query_pairs().find(|(name, _)| name == "uddg").map(|(_, value)| value.into_owned())?;
    (!target.contains("duckduckgo.com/y.js")).then_some(target)
}

/// Returns the text of a piece of HTML: without tags, and with the characters that references stand for.
pub fn text_of(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_tag = |next: char| next.is_ascii_alphabetic() || next == '/' || next == '!';
        if rest.starts_with('<') && rest[1..].starts_with(is_tag) {
            match rest.find('>') {
                Some(end) => rest = &rest[end + 1..],
                None => return text,
            }
        } else if let Some((character, length)) = reference(rest) {
            text.push(character);
            rest = &rest[length..];
        } else {
            text.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    text.push_str(rest);
    text
}

/// Returns the character that a reference at the beginning of `text` stands for, with the length of the reference.
fn reference(text: &str) -> Option<(char, usize)> {
    /// No reference that is read here is longer, in bytes.
    const LONGEST: usize = 10;
    let end = text.bytes().take(LONGEST).position(|byte| byte == b';')?;
    let name = text.get(1..end).filter(|_| text.starts_with('&'))?;
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "hellip" => '…',
        "ndash" => '–',
        "mdash" => '—',
        name => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    Some((character, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_has_no_tags_and_no_references() {
        for (html, text) in [
            ("a <b>bold</b> word", "a bold word"),
            ("&lt;script&gt; &amp; &#39;x&#x27; &nbsp;&#xfffffff; &unknown;", "<script> & 'x'  &#xfffffff; &unknown;"),
            ("1 < 2 & 3", "1 < 2 & 3"),
            ("cut <b", "cut "),
            ("&", "&"),
        ] {
            assert_eq!(text_of(html), text, "{html}");
        }
    }

    proptest! {
        #[test]
        fn any_page_is_read(pieces in proptest::collection::vec(prop_oneof![
            Just(LINK.to_owned()), Just(SNIPPET.to_owned()), Just("<a href=\"//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example\"".to_owned()),
            Just(">".to_owned()), Just("</a>".to_owned()), Just("&#x".to_owned()), "\\PC{0,8}",
        ], 0..30)) {
            let _ = results(&pieces.concat());
        }
    }
}
