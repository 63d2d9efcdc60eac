//! Office documents, which are zip archives of XML.

use std::io::Write;

use super::{Sample, Text, broken, sample};

/// A file in an archive, with its header fields.
pub struct Member {
    name: String,
    data: Vec<u8>,
    stored: bool,
    flags: u16,
    method: Option<u16>,
}

impl Member {
    pub fn new(name: &str, data: impl Into<Vec<u8>>) -> Self {
        Self { name: name.to_owned(), data: data.into(), stored: false, flags: 0, method: None }
    }

    fn stored(self) -> Self {
        Self { stored: true, ..self }
    }
}

/// Builds a zip archive.
pub fn zip(members: &[Member]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let at = out.len() as u32;
        let packed = if member.stored {
            member.data.clone()
        } else {
            let mut packer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
            packer.write_all(&member.data).unwrap();
            packer.finish().unwrap()
        };
        let method = member.method.unwrap_or(if member.stored { 0 } else { 8 });
        let mut common = Vec::new();
        for number in [20, member.flags, method, 0, 0] {
            common.extend(u16::to_le_bytes(number));
        }
        for number in [crc32fast::hash(&member.data), packed.len() as u32, member.data.len() as u32] {
            common.extend(number.to_le_bytes());
        }
        common.extend((member.name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(member.name.bytes());
        out.extend(&packed);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(member.name.bytes());
    }
    let (start, count) = (out.len() as u32, members.len() as u16);
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}

const STYLES: &str = r#"<w:styles><w:style w:styleId="1"><w:name w:val="heading 1"/></w:style><w:style w:styleId="2"><w:name w:val="Own"/><w:basedOn w:val="1"/></w:style></w:styles>"#;

/// Builds a Word document with this body.
pub fn docx(body: &str) -> Vec<u8> {
    let document = format!("<?xml version=\"1.0\"?><w:document><w:body>{body}</w:body></w:document>");
    zip(&[
        Member::new("[Content_Types].xml", "<Types/>"),
        Member::new("word/styles.xml", STYLES),
        Member::new("word/document.xml", document),
    ])
}

/// Builds a Word document of a heading and paragraphs.
pub fn docx_of(heading: &str, paragraphs: &[&str]) -> Vec<u8> {
    let heading = format!("<w:p><w:pPr><w:pStyle w:val=\"1\"/></w:pPr><w:r><w:t>{heading}</w:t></w:r></w:p>");
    let body: String = paragraphs.iter().map(|text| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")).collect();
    docx(&format!("{heading}{body}"))
}

pub fn odt(body: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:body><office:text>{body}</office:text></office:body></office:document-content>"
    );
    zip(&[
        Member::new("mimetype", "application/vnd.oasis.opendocument.text").stored(),
        Member::new("META-INF/manifest.xml", "<m/>"),
        Member::new("content.xml", content),
    ])
}

pub fn pptx(slides: &[&str]) -> Vec<u8> {
    let slide = |(number, text): (usize, &&str)| {
        let xml = format!("<p:sld><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sld>");
        Member::new(&format!("ppt/slides/slide{}.xml", number + 1), xml)
    };
    zip(&slides.iter().enumerate().map(slide).collect::<Vec<_>>())
}

fn document(xml: impl Into<Vec<u8>>) -> Vec<u8> {
    zip(&[Member::new("word/document.xml", xml)])
}

pub fn samples() -> Vec<Sample> {
    let long = |size: usize| format!("<w:p><w:r><w:t>{}</w:t></w:r></w:p>", "x ".repeat(size / 2));
    let deep = |count: usize| format!("{}deep{}", "<w:p><w:r>".repeat(count), "</w:r></w:p>".repeat(count));
    let entities: String = (1..30).map(|n| format!("<!ENTITY e{n} \"&e{};&e{};\">", n - 1, n - 1)).collect();
    let laughs =
        format!("<!DOCTYPE d [<!ENTITY e0 \"ha\">{entities}]><w:p><w:r><w:t>Loons &e29; laugh.</w:t></w:r></w:p>");
    let outside =
        "<!DOCTYPE d [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><w:p><w:r><w:t>Grebes &e; dance.</w:t></w:r></w:p>";
    let names = (0..5_000).map(|n| Member::new(&format!("word/{n}.xml"), "x").stored()).collect::<Vec<_>>();
    let whole = docx_of("Birds", &["Penguins cannot fly.", "Ostriches run."]);
    let locked = Member { flags: 1, ..Member::new("word/document.xml", "<x/>") };
    let odd = Member { method: Some(99), ..Member::new("word/document.xml", "<x/>") };
    let odd_names =
        ["../../../etc/passwd", "/etc/passwd", "", "a\0b", "..\\..\\x", "word/document.xml/..", "\u{202e}lmx"];
    let odd_names: Vec<Member> = odd_names.iter().map(|name| Member::new(name, "x")).collect();
    let mut all = vec![
        sample("good.docx", docx_of("Waders", &["Plovers run on beaches."]), Text::Contains("Plovers")),
        sample("good.docm", docx_of("Waders", &["Avocets sweep."]), Text::Contains("Avocets")),
        sample(
            "good.odt",
            odt("<text:h text:outline-level=\"1\">Owls</text:h><text:p>Owls<text:s/>hear.</text:p>"),
            Text::Contains("Owls"),
        ),
        sample("good.pptx", pptx(&["Terns", "Terns travel."]), Text::Contains("Terns travel")),
        sample("empty.docx", "", Text::Refused("damaged")),
        sample("text.docx", "no archive at all", Text::Refused("damaged")),
        sample("no-document.docx", zip(&[Member::new("a", "b")]), Text::Refused("damaged")),
        sample("no-members.docx", zip(&[]), Text::Refused("damaged")),
        sample("no-text.docx", docx(""), Text::Refused("no_text")),
        sample("ole.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and so on".to_vec(), Text::Refused("encrypted")),
        sample("locked.docx", zip(&[locked]), Text::Refused("encrypted")),
        sample("odd-method.docx", zip(&[odd]), Text::Refused("damaged")),
        sample("odd-names.docx", zip(&odd_names), Text::Refused("damaged")),
        sample("many-members.docx", zip(&names), Text::Refused("archive_limit")),
        sample("bomb.docx", docx(&long(100 << 20)), Text::Refused("archive_limit")),
        sample("long.docx", docx(&long(20 << 20)), Text::Refused("text_limit")),
        sample(
            "bomb-of-styles.docx",
            zip(&[Member::new("word/styles.xml", vec![b' '; 100 << 20]), Member::new("word/document.xml", "<x/>")]),
            Text::Refused("archive_limit"),
        ),
        sample("deep.docx", docx(&deep(400)), Text::Refused("too_deep")),
        sample("deeper.docx", document(deep(200_000)), Text::Refused("too_deep")),
        sample("laughs.docx", document(laughs), Text::Contains("Loons")),
        sample("outside.docx", document(outside), Text::Contains("Grebes")),
        sample("no-xml.docx", document(vec![0xff; 10_000]), Text::Refused("damaged")),
        sample("cut-xml.docx", document("<w:p><w:r><w:t>Gannets"), Text::Any),
        sample("crossed.docx", document("<w:p><w:r></w:p></w:r>"), Text::Any),
        sample("open-tags.docx", document("<w:tbl><w:tr><w:tc>".repeat(100)), Text::Any),
        sample("attributes.docx", document(format!("<w:p {}/>", "a='b' ".repeat(200_000))), Text::Any),
        sample("nested-archive.docx", document(whole.clone()), Text::Refused("damaged")),
        sample(
            "archive-in-archive.docx",
            zip(&[Member::new("inner.docx", whole.clone()).stored()]),
            Text::Refused("damaged"),
        ),
        sample("styles-in-a-circle.docx", styles_in_a_circle(), Text::Contains("Stilts")),
        sample(
            "twice.docx",
            zip(&[
                Member::new("word/document.xml", "<x/>"),
                // The last entry of a name counts.
                Member::new("word/document.xml", "<w:p><w:r><w:t>Dunlins probe.</w:t></w:r></w:p>"),
            ]),
            Text::Contains("Dunlins"),
        ),
        sample("directory-at-itself.docx", directory_at_itself(&whole), Text::Any),
        sample("sizes-that-lie.docx", sizes_that_lie(&whole), Text::Any),
        sample(
            "blanks.odt",
            odt(&format!("<text:p>Swifts{}sleep.</text:p>", "<text:s text:c=\"4000000000\"/>".repeat(1000))),
            Text::Contains("Swifts"),
        ),
        sample(
            "columns.odt",
            odt(
                "<table:table><table:table-row><table:table-cell table:number-columns-repeated=\"2000000000\"><text:p>Kites</text:p></table:table-cell></table:table-row></table:table>",
            ),
            Text::Contains("Kites"),
        ),
        sample(
            "locked.odt",
            zip(&[Member::new("META-INF/manifest.xml", "<m><encryption-data/></m>"), Member::new("content.xml", "??")]),
            Text::Refused("encrypted"),
        ),
        sample("no-slides.pptx", zip(&[Member::new("ppt/presentation.xml", "<x/>")]), Text::Refused("damaged")),
    ];
    all.extend(broken(&whole, "docx", 48));
    all.extend(broken(&odt("<text:p>Crows.</text:p>"), "odt", 12));
    all.extend(broken(&pptx(&["Rooks."]), "pptx", 12));
    all
}

fn styles_in_a_circle() -> Vec<u8> {
    let style = |id: &str, on: &str| format!("<w:style w:styleId=\"{id}\"><w:basedOn w:val=\"{on}\"/></w:style>");
    let body = "<w:p><w:pPr><w:pStyle w:val=\"a\"/></w:pPr><w:r><w:t>Stilts wade.</w:t></w:r></w:p>";
    let styles = format!("<w:styles>{}{}</w:styles>", style("a", "b"), style("b", "a"));
    zip(&[Member::new("word/styles.xml", styles), Member::new("word/document.xml", body)])
}

/// The end record gives its own offset as the start of the directory.
fn directory_at_itself(whole: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let at = bytes.len() - 6;
    let end = (bytes.len() - 22) as u32;
    bytes[at..at + 4].copy_from_slice(&end.to_le_bytes());
    bytes
}

/// Every size in the directory is the maximum value.
fn sizes_that_lie(whole: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for at in 0..bytes.len() - 30 {
        if bytes[at..].starts_with(b"PK\x01\x02") {
            bytes[at + 20..at + 28].fill(0xff);
        }
    }
    bytes
}
