//! Documents as text, read by the real program in a helper process: intact documents are read; a hostile one ends
//! only its reader, and is refused with the reason.

#[allow(dead_code, reason = "shared with another test, which uses another part")]
mod corpus;

use std::path::Path;
use std::time::{Duration, Instant};

use corpus::{Text, docx, docx_of, odt, pdf_of, pptx, samples, zip};
use miniclaw::domain::RelPath;
use miniclaw::extraction::Extractor;
use miniclaw::retrieval::extract::{DocumentKind, Unreadable};
use miniclaw::sandbox::{Level, Sandbox, SandboxConfig};
use proptest::prelude::*;

fn extractor(level: Level) -> Extractor {
    let supervisor_exe = env!("CARGO_BIN_EXE_miniclaw").into();
    Extractor::new(Sandbox::new(SandboxConfig { supervisor_exe, level }))
}

fn read(extractor: &Extractor, name: &str, bytes: Vec<u8>) -> Result<String, Unreadable> {
    let path = RelPath::parse(&format!("knowledge/{name}")).unwrap();
    extractor.read(DocumentKind::of(&path).unwrap(), bytes)
}

#[test]
fn documents_are_read_at_every_level() {
    let levels = [Level::Standard, Level::Off, Level::Strict];
    for level in levels {
        let extractor = extractor(level);
        for (name, bytes, expected) in [
            (
                "a.pdf",
                pdf_of(&["Penguins cannot fly.", "", "Ostriches run."]),
                "## Page 1\n\nPenguins cannot fly.\n\n## Page 3\n\nOstriches run.\n\n",
            ),
            ("a.html", b"<h1>Birds</h1><p>Penguins <b>swim</b>.</p>".to_vec(), "# Birds\n\nPenguins **swim**."),
            (
                "a.docx",
                docx_of("Birds", &["Penguins swim.", "Ostriches run."]),
                "# Birds\n\nPenguins swim.\n\nOstriches run.",
            ),
            (
                "a.odt",
                odt("<text:h text:outline-level=\"2\">Birds</text:h><text:p>Penguins<text:s/>swim.</text:p>"),
                "## Birds\n\nPenguins swim.",
            ),
            ("a.pptx", pptx(&["Birds", "Penguins swim."]), "## Slide 1\n\nBirds\n\n## Slide 2\n\nPenguins swim.\n\n"),
        ] {
            assert_eq!(read(&extractor, name, bytes).as_deref(), Ok(expected), "{level:?}");
        }
    }
}

#[test]
fn corpus_documents_are_read_or_refused_with_reason() {
    let extractor = extractor(Level::Standard);
    let samples = samples();
    assert!(samples.len() >= 200, "{}", samples.len());
    for sample in samples {
        let started = Instant::now();
        let read = read(&extractor, &sample.name, sample.bytes);
        let shown = read.as_ref().map(|text| text.chars().take(80).collect::<String>()).map_err(Clone::clone);
        match sample.text {
            Text::Contains(word) => {
                assert!(read.as_ref().is_ok_and(|text| text.contains(word)), "{}: {shown:?}", sample.name)
            }
            Text::Refused(code) => assert_eq!(shown.map_err(|why| why.code()), Err(code), "{}", sample.name),
            Text::Any => assert!(!matches!(read, Err(Unreadable::NoReader(_))), "{}: {shown:?}", sample.name),
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{} took {:?}", sample.name, started.elapsed());
    }
}

/// Returns the processes of a program that read documents.
fn readers(program: &Path) -> Vec<i32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_reader = |pid: &String| {
        let of = Path::new("/proc").join(pid);
        let line = std::fs::read(of.join("cmdline")).unwrap_or_default();
        std::fs::read_link(of.join("exe")).is_ok_and(|exe| exe == program)
            && line.windows(16).any(|part| part == b"__read_documents")
    };
    pids.filter(is_reader).filter_map(|pid| pid.parse().ok()).collect()
}

#[test]
fn reader_is_reused_restarted_and_closed_when_idle() {
    // Under its own program name, so that the readers of other tests can be told apart.
    let built = Path::new(env!("CARGO_BIN_EXE_miniclaw"));
    let folder = tempfile::tempdir_in(built.parent().unwrap()).unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let program = folder.path().join("reading");
    std::fs::hard_link(built, &program).unwrap();
    let sandbox = Sandbox::new(SandboxConfig { supervisor_exe: program.clone(), level: Level::Standard });
    let extractor = Extractor::new(sandbox).with_idle(Duration::from_millis(1_500));
    let good = || read(&extractor, "a.pdf", pdf_of(&["Penguins swim."]));
    assert!(readers(&program).is_empty(), "none before the first document");
    assert!(good().is_ok());
    let first = readers(&program);
    assert_eq!(first.len(), 1);
    let about = |what: &str| std::fs::read_to_string(format!("/proc/{}/{what}", first[0])).unwrap();
    assert!(about("status").contains("Seccomp:\t2") && about("status").contains("NoNewPrivs:\t1"), "in the sandbox");
    assert!(about("limits").lines().any(|line| line.starts_with("Max address space") && line.contains("536870912")));
    let folder_of_reader = std::fs::read_link(format!("/proc/{}/cwd", first[0])).unwrap();
    assert!(!folder_of_reader.exists(), "it has no place to write: {folder_of_reader:?}");
    for _ in 0..20 {
        assert!(good().is_ok());
    }
    assert_eq!(readers(&program), first, "one for many");
    // SAFETY: a process that this test started, seen just above.
    assert_eq!(unsafe { libc::kill(first[0], libc::SIGKILL) }, 0);
    assert!(good().is_ok(), "a document is not blamed for a reader that served others and is gone");
    let second = readers(&program);
    assert!(second.len() == 1 && second != first, "{second:?}");
    let started = Instant::now();
    while !readers(&program).is_empty() {
        assert!(started.elapsed() < Duration::from_secs(20), "it is let go");
        std::thread::yield_now();
    }
    assert!(good().is_ok(), "and another one is started");
}

#[tokio::test]
async fn cancelled_reader_stops_extraction() {
    let extractor = extractor(Level::Standard);
    let slow = format!("{}{}", "<x-a>".repeat(4_999), "</y>".repeat(1_000_000));
    let url = "https://example.com/".parse().unwrap();
    let given_up = tokio::time::timeout(Duration::from_millis(300), extractor.page(&url, slow)).await;
    assert!(given_up.is_err(), "{given_up:?}");
    let page = extractor.page(&url, "<title>Birds</title><p>Penguins <a href='/x'>swim</a>.".to_owned()).await.unwrap();
    assert!(page.text.contains("[swim](https://example.com/x)"), "{page:?}");
    assert_eq!(page.title.as_deref(), Some("Birds"));
}

/// Pages of `fetch_url` take another path through the parsers than files of knowledge/.
#[tokio::test]
async fn corpus_pages_are_read_or_refused() {
    let extractor = extractor(Level::Standard);
    let url = "https://example.com/".parse().unwrap();
    for sample in samples().into_iter().filter(|sample| sample.name.contains(".htm")) {
        let Ok(html) = String::from_utf8(sample.bytes) else { continue };
        let page = extractor.page(&url, html).await;
        assert!(!matches!(page, Err(Unreadable::NoReader(_))), "{}: {page:?}", sample.name);
        if let Text::Contains(word) = sample.text {
            assert!(page.is_ok_and(|page| page.text.contains(word)), "{}", sample.name);
        }
    }
}

fn word(bytes: &[u8]) -> Result<String, Unreadable> {
    DocumentKind::Docx.read(bytes)
}

#[test]
fn word_document_keeps_structure_without_hidden_text() {
    let run = |text: &str| format!("<w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r>");
    let body = [
        "<w:p><w:pPr><w:pStyle w:val=\"2\"/></w:pPr>".to_owned() + &run("Own ") + &run("style") + "</w:p>",
        "<w:p><w:pPr><w:outlineLvl w:val=\"1\"/></w:pPr>".to_owned() + &run("Level two") + "</w:p>",
        "<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr>".to_owned() + &run("A &amp; B &#233;") + "<w:r><w:br/></w:r>" + &run("next") + "</w:p>",
        "<w:p><w:pPr><w:numPr/></w:pPr>".to_owned() + &run("one") + "</w:p><w:p><w:pPr><w:numPr/></w:pPr>" + &run("two") + "</w:p>",
        "<w:tbl><w:tr><w:tc><w:p>".to_owned() + &run("a|b") + "</w:p></w:tc><w:tc><w:p>" + &run("c") + "</w:p></w:tc></w:tr><w:tr><w:tc><w:p>"
            + &run("d") + "</w:p></w:tc><w:tc><w:tbl><w:tr><w:tc><w:p>" + &run("inner") + "</w:p></w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>",
        "<w:p><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>".to_owned()
            + "<w:r><w:instrText>PAGE</w:instrText></w:r><mc:AlternateContent><mc:Fallback>" + &run("again") + "</mc:Fallback></mc:AlternateContent>"
            + &run("seen") + "</w:p>",
    ];
    let expected = "# Own style\n\n## Level two\n\nA & B é\nnext\n\n- one\n- two\n\n| a b | c |\n| --- | --- |\n| d | inner |\n\nseen";
    assert_eq!(word(&docx(&body.concat())).as_deref(), Ok(expected));
}

proptest! {
    #[test]
    fn word_document_text_is_complete(words in prop::collection::vec("[a-z\u{4e00}-\u{4e20}]{1,12}", 1..40)) {
        let paragraphs: Vec<&str> = words.iter().map(String::as_str).collect();
        let text = word(&docx_of("Title", &paragraphs)).unwrap();
        prop_assert_eq!(text, format!("# Title\n\n{}", words.join("\n\n")));
    }

    #[test]
    fn any_bytes_yield_text_or_reason(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = word(&bytes);
        let _ = DocumentKind::Odt.read(&bytes);
        let _ = DocumentKind::Pptx.read(&bytes);
    }

    #[test]
    fn any_archive_yields_text_or_reason(
        xml in "(<(w:p|w:r|w:t|w:tbl|w:tr|w:tc|w:pPr|w:vanish|mc:Fallback|w:tab/|!--|\\?x|!\\[CDATA\\[)>?|</(w:p|w:r|w:t|w:tbl|w:tr|w:tc|mc:Fallback)>|-->|\\]\\]>|&(amp|x|#1|#x41);|[a-z ]{1,6}|é){0,40}",
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        for name in ["word/document.xml", "content.xml", "ppt/slides/slide1.xml"] {
            let mut archive = zip(&[corpus::Member::new(name, xml.as_str())]);
            for (at, value) in &flips {
                let at = at.index(archive.len());
                archive[at] = *value;
            }
            for kind in [DocumentKind::Docx, DocumentKind::Odt, DocumentKind::Pptx] {
                let _ = kind.read(&archive);
            }
        }
    }
}
