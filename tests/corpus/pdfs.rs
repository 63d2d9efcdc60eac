//! PDFs.

use std::io::Write;

use super::{Sample, Text, broken, sample};

/// Builds a PDF of these objects, the first of which is the catalog.
pub fn pdf(objects: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (number, body) in objects {
        offsets.push((*number, out.len()));
        writeln!(out, "{number} 0 obj").unwrap();
        out.extend(body);
        out.extend(b"\nendobj\n");
    }
    let table = out.len();
    out.extend(b"xref\n");
    for (number, offset) in &offsets {
        write!(out, "{number} 1\n{offset:010} 00000 n \n").unwrap();
    }
    write!(out, "trailer<</Size 999/Root 1 0 R>>\nstartxref\n{table}\n%%EOF").unwrap();
    out
}

/// Builds a minimal PDF with one page of text per entry.
pub fn pdf_of(pages: &[&str]) -> Vec<u8> {
    let streams: Vec<Vec<u8>> =
        pages.iter().map(|text| stream("", format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET").as_bytes())).collect();
    with_pages(&streams, &[])
}

fn stream(entries: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = format!("<</Length {}{entries}>>stream\n", bytes.len()).into_bytes();
    out.extend(bytes);
    out.extend(b"\nendstream");
    out
}

/// Builds pages with these contents; `more` are objects numbered from 100. Object 100 is the form `/X`.
fn with_pages(contents: &[Vec<u8>], more: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let kids: Vec<String> = (0..contents.len()).map(|n| format!("{} 0 R", 10 + 2 * n)).collect();
    let mut objects = vec![
        (1, b"<</Type/Catalog/Pages 2 0 R>>".to_vec()),
        (2, format!("<</Type/Pages/Count {}/Kids[{}]>>", contents.len(), kids.join(" ")).into_bytes()),
        (3, b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_vec()),
    ];
    for (n, body) in contents.iter().enumerate() {
        let n = 10 + 2 * n as u32;
        let page = format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>/XObject<</X 100 0 R>>>>/Contents {} 0 R>>",
            n + 1
        );
        objects.push((n, page.into_bytes()));
        objects.push((n + 1, body.clone()));
    }
    objects.extend(more.iter().cloned());
    pdf(&objects)
}

fn form(content: &str) -> Vec<u8> {
    stream("/Type/XObject/Subtype/Form/BBox[0 0 1 1]/Resources<</XObject<</X 100 0 R/Y 101 0 R>>>>", content.as_bytes())
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// Returns a few kilobytes of deflated data that expand to this many megabytes.
fn unpacks_to(megabytes: usize) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    let piece = b"BT (x) Tj ET ".repeat((1 << 20) / 13);
    (0..megabytes).for_each(|_| packer.write_all(&piece).unwrap());
    packer.finish().unwrap()
}

fn bomb(megabytes: usize) -> Vec<u8> {
    stream("/Filter/FlateDecode", &unpacks_to(megabytes))
}

pub fn samples() -> Vec<Sample> {
    let draw = |name: &str| stream("", format!("/{name} Do").as_bytes());
    let twice = deflated(&unpacks_to(400));
    let deep = |open: &str, close: &str, count: usize| {
        stream("", format!("{}1{} TJ", open.repeat(count), close.repeat(count)).as_bytes())
    };
    let nested_pages = |count: u32| {
        let mut objects = vec![(1, b"<</Type/Catalog/Pages 2 0 R>>".to_vec())];
        let node = |n: u32| format!("<</Type/Pages/Count 1/Kids[{} 0 R]>>", n + 1).into_bytes();
        objects.extend((2..count).map(|n| (n, node(n))));
        objects.push((count, b"<</Type/Pages/Count 1/Kids[2 0 R]>>".to_vec()));
        pdf(&objects)
    };
    let mut all = vec![
        sample("good.pdf", pdf_of(&["Penguins cannot fly.", "", "Albatrosses can."]), Text::Contains("Albatrosses")),
        sample("good-blank.pdf", pdf_of(&[""]), Text::Refused("no_text")),
        sample("form-in-itself.pdf", with_pages(&[draw("X")], &[(100, form("/X Do"))]), Text::Refused("too_deep")),
        sample(
            "forms-in-turn.pdf",
            with_pages(&[draw("X")], &[(100, form("/Y Do")), (101, form("/X Do"))]),
            Text::Refused("too_deep"),
        ),
        sample(
            "form-tree.pdf",
            with_pages(&[draw("X")], &[(100, form("/Y Do /Y Do")), (101, form("/X Do /X Do"))]),
            Text::Any,
        ),
        sample("bomb-64.pdf", with_pages(&[bomb(64)], &[]), Text::Any),
        sample("bomb-400.pdf", with_pages(&[bomb(400)], &[]), Text::Refused("memory_limit")),
        sample("bomb-twice.pdf", with_pages(&[stream("/Filter[/FlateDecode/FlateDecode]", &twice)], &[]), Text::Any),
        sample("arrays.pdf", with_pages(&[deep("[", "]", 50_000)], &[]), Text::Any),
        sample("dictionaries.pdf", with_pages(&[deep("<</a ", ">>", 50_000)], &[]), Text::Any),
        sample("texts.pdf", with_pages(&[deep("(", ")", 50_000)], &[]), Text::Any),
        sample("pages-in-a-circle.pdf", nested_pages(3), Text::Any),
        sample("pages-in-a-long-circle.pdf", nested_pages(800), Text::Any),
        sample(
            "length-of-itself.pdf",
            with_pages(&[b"<</Length 11 0 R>>stream\nx\nendstream".to_vec()], &[]),
            Text::Any,
        ),
        sample("no-pages.pdf", pdf(&[(1, b"<</Type/Catalog>>".to_vec())]), Text::Any),
        sample("catalog-is-itself.pdf", pdf(&[(1, b"1 0 R".to_vec())]), Text::Any),
        sample("empty.pdf", "", Text::Refused("damaged")),
        sample("only-a-head.pdf", "%PDF-1.4 nonsense", Text::Refused("damaged")),
        sample("not-one.pdf", "This is plain text.", Text::Refused("damaged")),
        sample("zeros.pdf", vec![0; 100_000], Text::Refused("damaged")),
        sample("comments.pdf", format!("%PDF-1.4\n{}", "%\n".repeat(200_000)), Text::Refused("damaged")),
        sample("heads.pdf", "%PDF-1.4\n1 0 obj\n".repeat(20_000), Text::Any),
        sample("arrays-at-the-top.pdf", format!("%PDF-1.4\n1 0 obj\n{}", "[".repeat(200_000)), Text::Any),
        sample("endless-reference-table.pdf", endless_table(), Text::Any),
        sample("huge-numbers.pdf", huge_numbers(), Text::Any),
        sample("encrypted.pdf", encrypted(), Text::Any),
        sample("many-pages.pdf", pdf_of(&["Page."; 150]), Text::Contains("Page")),
    ];
    all.extend(broken(&pdf_of(&["Penguins cannot fly.", "Ostriches run."]), "pdf", 64));
    all
}

/// The cross-reference table names itself as the previous one.
fn endless_table() -> Vec<u8> {
    let head = b"%PDF-1.4\n1 0 obj\n<</Type/Catalog>>\nendobj\n";
    let at = head.len();
    let mut out = head.to_vec();
    write!(out, "xref\n0 1\n0000000009 00000 n \ntrailer<</Size 1/Root 1 0 R/Prev {at}>>\nstartxref\n{at}\n%%EOF")
        .unwrap();
    out
}

fn huge_numbers() -> Vec<u8> {
    let number = "9".repeat(4_000);
    let content = format!("BT {number} {number} Td /F1 {number} Tf ({number}) Tj -{number} Tw ET");
    with_pages(&[stream(&format!("/DL {number}"), content.as_bytes())], &[])
}

fn encrypted() -> Vec<u8> {
    let whole = String::from_utf8(pdf_of(&["Secret."])).unwrap();
    let entry = format!(
        "/Encrypt<</Filter/Standard/V 1/R 2/P -1/O({})/U({})>>/ID[(a)(b)]/Root",
        "o".repeat(32),
        "u".repeat(32)
    );
    whole.replace("/Root", &entry).into_bytes()
}
