//! Converts HTML to Markdown: the main text of a page, with absolute links and without text that a person does not see.
//!
//! The converters recurse over the page's tree, and a hostile page can be deep enough to overflow any stack. So this runs
//! only in a helper process ([`crate::extraction`]), and one pass measures the page first: a page that is too deep gets a
//! simpler conversion.

use dom_smoothie::{Config, Readability};
use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, Options};
use url::Url;

use crate::retrieval::extract::html::{strip, tidy};
use crate::retrieval::extract::{Depth, measure};

/// Minimum length of an extracted article; a shorter one counts as a failed extraction.
const ARTICLE: usize = 200;
/// Maximum number of elements for the extraction; with more of them it takes too long.
const ELEMENTS: usize = 60_000;
/// Elements that are not text of the page.
const SKIPPED: [&str; 14] = [
    "script", "style", "nav", "footer", "aside", "template", "svg", "noscript", "iframe", "button", "select", "input",
    "head", "object",
];

#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    pub title: Option<String>,
    pub text: String,
}

/// Converts a page. Call this only in a helper process.
pub fn convert(html: &str, url: &Url) -> Page {
    let page = std::panic::catch_unwind(|| match measure(html) {
        Depth::Normal => markdown(html, url).unwrap_or_else(|| plain(html)),
        Depth::Deep => plain(html),
        Depth::Hostile => Page { title: None, text: strip(html) },
    });
    page.unwrap_or_else(|_| Page { title: None, text: strip(html) })
}

fn markdown(html: &str, url: &Url) -> Option<Page> {
    let config = Config { keep_classes: true, max_elements_to_parse: ELEMENTS, ..Config::default() };
    let mut readability = Readability::new(html, None, Some(config)).ok()?;
    remove_hidden(&readability);
    complete_links(&readability, url);
    let title = readability.get_article_title().trim().to_owned();
    let title = (!title.is_empty()).then_some(title);
    // The extraction modifies the tree.
    let whole = readability.doc.html();
    let article = readability.parse().ok().filter(|article| article.length >= ARTICLE);
    let main = article.map_or_else(|| whole.to_string(), |article| article.content.to_string());
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder().options(options).skip_tags(SKIPPED.into()).build();
    let text = converter.convert(&main).ok()?;
    let text = without_repeated_title(&text, title.as_deref());
    Some(Page { title, text: tidy(text) })
}

/// Removes the first heading if it repeats the title, which is shown above the text anyway.
fn without_repeated_title<'a>(text: &'a str, title: Option<&str>) -> &'a str {
    let (first, rest) = text.trim_start().split_once('\n').unwrap_or((text.trim_start(), ""));
    match (first.trim_start_matches('#').trim(), title) {
        (heading, Some(title)) if first.starts_with('#') && heading == title => rest,
        _ => text,
    }
}

/// Removes text that a person does not see: attackers hide instructions to a model there.
fn remove_hidden(page: &Readability) {
    page.doc.select("[hidden], [aria-hidden=true], template").remove();
    for node in page.doc.select("[style]").iter() {
        let style: String =
            node.attr("style").unwrap_or_default().chars().filter(|char| !char.is_whitespace()).collect();
        let style = style.to_ascii_lowercase();
        let zero = |property: &str| {
            let value = style.split(';').find_map(|rule| rule.strip_prefix(property)).unwrap_or("1");
            value.trim_end_matches(|char: char| char.is_ascii_alphabetic() || char == '%' || char == '!') == "0"
        };
        if style.contains("display:none")
            || style.contains("visibility:hidden")
            || zero("font-size:")
            || zero("opacity:")
        {
            node.remove();
        }
    }
}

/// Makes the addresses of links and pictures absolute. Removes addresses that lead to no page (`javascript:`, `data:`), and
/// pictures without an address.
fn complete_links(page: &Readability, url: &Url) {
    let base = page.doc.select("base[href]").attr("href").and_then(|href| url.join(&href).ok());
    let base = base.unwrap_or_else(|| url.clone());
    for (selector, attribute) in [("a[href]", "href"), ("img[src]", "src")] {
        for node in page.doc.select(selector).iter() {
            let target = node.attr(attribute).and_then(|target| base.join(&target).ok());
            match target.filter(|target| matches!(target.scheme(), "http" | "https" | "mailto")) {
                Some(target) => node.set_attr(attribute, target.as_str()),
                None => node.remove_attr(attribute),
            }
        }
    }
    page.doc.select("img:not([src])").remove();
}

/// Converts a page with the simpler converter, which does not recurse.
fn plain(html: &str) -> Page {
    let text = html2text::from_read(html.as_bytes(), 100).unwrap_or_else(|_| strip(html));
    Page { title: None, text: tidy(&text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Stack size of a reader, in bytes.
    const STACK: usize = 64 << 20;

    fn page(html: &str) -> Page {
        convert(html, &"https://example.com/docs/page.html".parse().unwrap())
    }

    #[test]
    fn main_text_becomes_markdown_with_absolute_links() {
        let paragraph = "This is a paragraph of the article, long enough to be taken for its text. ".repeat(4);
        let page = page(&format!(
            "<html><head><title>The Title</title></head><body><nav><a href='/home'>Home</a></nav><article><h1>The Title</h1>\
             <p>{paragraph}<a href='../other.html'>other</a> <a href='javascript:alert(1)'>bad</a></p><ul><li>one</li><li>two</li></ul>\
             <pre><code class='language-rust'>fn main() {{}}</code></pre><p>{paragraph}</p></article><footer>Imprint</footer></body></html>"
        ));
        assert_eq!(page.title.as_deref(), Some("The Title"));
        for part in ["[other](https://example.com/other.html)", "- one\n- two", "```rust\nfn main() {}\n```"] {
            assert!(page.text.contains(part), "{part} in {}", page.text);
        }
        for gone in ["Home", "Imprint", "javascript", "# The Title"] {
            assert!(!page.text.contains(gone), "{gone} in {}", page.text);
        }
    }

    #[test]
    fn hidden_text_is_not_extracted() {
        let page = page(
            "<p>Seen.</p><p style='DISPLAY : none'>h1</p><div hidden>h2</div><span aria-hidden='true'>h3</span>\
             <p style='color:red;visibility: hidden'>h4</p><p style='font-size:0px'>h5</p><p style='opacity: 0'>h6</p>\
             <template>h7</template><!-- h8 --><script>h9</script><style>h10</style><noscript>h11</noscript>\
             <p style='font-size:0.9em'>Small.</p><p style='opacity:0.5'>Pale.</p>",
        );
        for seen in ["Seen.", "Small.", "Pale."] {
            assert!(page.text.contains(seen), "{seen} in {}", page.text);
        }
        assert!(!page.text.contains("h1") && !(2..10).any(|n| page.text.contains(&format!("h{n}"))), "{}", page.text);
    }

    #[test]
    fn short_pages_and_tables_are_kept() {
        let page = page("<h1>Prices</h1><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>");
        assert!(page.text.contains("| a") && page.text.contains("| 1"), "{}", page.text);
    }

    #[test]
    fn hostile_pages_neither_overflow_nor_hang() {
        let nested = |tag: &str, count: usize| {
            format!("{}deep{}", format!("<{tag}>").repeat(count), format!("</{tag}>").repeat(count))
        };
        let many_formats: String = (0..50_000).map(|n| format!("<div><b id={n}></div>x")).collect();
        for html in [
            nested("div", 2_000),
            nested("div", 300_000),
            nested("b", 2_000),
            nested("b", 300_000),
            nested("table", 5_000),
            nested("span", 200),
            "<p>deep".repeat(10_000),
            "<li>deep".repeat(10_000),
            "<div></x>deep".repeat(100_000),
            many_formats,
            "<".repeat(100_000),
            "<!--".repeat(100_000),
            "<a href=\"".repeat(50_000),
            "deep &amp;".repeat(100_000),
        ] {
            let url = "https://example.com/".parse().unwrap();
            let started = std::time::Instant::now();
            let start = html.get(..20).unwrap_or_default().to_owned();
            let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || convert(&html, &url));
            thread.unwrap().join().unwrap();
            assert!(started.elapsed() < Duration::from_secs(60), "{start} took {:?}", started.elapsed());
        }
    }
}
