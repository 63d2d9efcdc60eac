//! HTML pages.

use super::{Sample, Text, broken, sample};

fn nested(tag: &str, count: usize) -> String {
    format!("{}deep{}", format!("<{tag}>").repeat(count), format!("</{tag}>").repeat(count))
}

pub fn samples() -> Vec<Sample> {
    let mut all = vec![
        sample(
            "good.html",
            "<h1>Birds</h1><p>Cormorants <b>dive</b>.</p><script>no()</script>",
            Text::Contains("Cormorants"),
        ),
        sample("good.htm", "<p>Herons stand.</p>", Text::Contains("Herons")),
        sample("nothing.html", "<script>only()</script>", Text::Refused("no_text")),
        sample("empty.html", "", Text::Refused("no_text")),
        sample("bytes.html", vec![0xff; 1000], Text::Refused("not_utf8")),
        sample("zeros.html", vec![0; 1000], Text::Refused("zero_bytes")),
    ];
    let tags =
        ["div", "b", "table", "span", "ul", "blockquote", "section", "a", "i", "font", "x-y", "svg", "math", "button"];
    for tag in tags {
        for count in [300, 6_000, 20_000] {
            all.push(sample(format!("nested-{tag}-{count}.html"), nested(tag, count), Text::Any));
        }
    }
    let tables = format!("{}deep", "<table><tr><td>".repeat(20_000));
    let lists = format!("{}deep", "<ul><li>".repeat(20_000));
    let formats: String = (0..10_000).map(|n| format!("<div><b id={n}></div>x")).collect();
    for (name, page) in [
        ("nested-tables", tables),
        ("nested-lists", lists),
        ("divs-300000", nested("div", 300_000)),
        ("bolds-50000", nested("b", 50_000)),
        ("bolds-300000", nested("b", 300_000)),
        ("never-closed-paragraphs", "<p>deep".repeat(8_000)),
        ("never-closed-items", "<li>deep".repeat(8_000)),
        ("never-closed-cells", format!("<table>{}", "<td>deep".repeat(8_000))),
        ("never-closed-options", format!("<select>{}", "<option>deep".repeat(8_000))),
        ("closings-of-nothing", "<div></x>deep".repeat(10_000)),
        ("closings-of-nothing-within", format!("{}{}", "<x-a>".repeat(4_999), "</y>".repeat(1_000_000))),
        ("formats-in-divs", formats),
        ("angles", "<".repeat(100_000)),
        ("comments", "<!--".repeat(200_000)),
        ("attributes", "<a href=\"".repeat(50_000)),
        ("many-attributes", format!("<p {}>deep", (0..8_000).map(|n| format!("a{n}=b ")).collect::<String>())),
        ("entities", "deep &amp;".repeat(20_000)),
        ("unknown-entities", "&zzzzzz;".repeat(20_000)),
        ("templates", nested("template", 5_000)),
        ("titles", "<title>".repeat(8_000)),
        ("frames", nested("frameset", 5_000)),
        ("scripts-in-scripts", "<script><!--<script>".repeat(20_000)),
        ("one-long-word", format!("<p>{}", "x".repeat(300_000))),
        ("doctypes", "<!doctype html [<!entity a 'b'>]>".repeat(4_000)),
        ("processing", "<?x ".repeat(100_000)),
        ("sections", "<![CDATA[".repeat(100_000)),
        ("foreign", "<svg><foreignObject><div>".repeat(3_000)),
        ("headings", "<h1>".repeat(10_000)),
        ("links", "<a href=x>y".repeat(10_000)),
        ("preformatted", nested("pre", 5_000)),
    ] {
        all.push(sample(format!("{name}.html"), page, Text::Any));
    }
    let whole = "<html><head><title>Birds</title></head><body><h1>Birds</h1><p>Penguins <b>swim</b>.</p><table><tr><td>a</td></tr></table><ul><li>one</li></ul></body></html>";
    all.extend(broken(whole.as_bytes(), "html", 32));
    all
}
