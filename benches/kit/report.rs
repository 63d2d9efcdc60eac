//! Figures, their targets, and the page that lists them.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

/// One measured figure.
pub struct Figure {
    name: String,
    value: f64,
    unit: String,
    target: Option<Target>,
    note: String,
}

enum Target {
    AtMost(f64),
    AtLeast(f64),
}

/// All figures of a run, by section.
#[derive(Default)]
pub struct Report {
    sections: Vec<(&'static str, Vec<Figure>)>,
}

impl Report {
    pub fn section(&mut self, title: &'static str) {
        println!("\n{title}");
        self.sections.push((title, Vec::new()));
    }

    pub fn figure(&mut self, name: impl Into<String>, value: f64, unit: impl Into<String>) -> &mut Figure {
        let figure = Figure { name: name.into(), value, unit: unit.into(), target: None, note: String::new() };
        if self.sections.is_empty() {
            self.sections.push(("Figures", Vec::new()));
        }
        let figures = &mut self.sections.last_mut().expect("there is a section, made just above if need be").1;
        figures.push(figure);
        figures.last_mut().expect("pushed just above")
    }

    /// Prints the figures of the last section.
    pub fn show(&self) {
        for figure in self.sections.last().into_iter().flat_map(|(_, figures)| figures) {
            let target =
                figure.target.as_ref().map(|_| format!(" (target {})", figure.target_text())).unwrap_or_default();
            println!("  {:4} {:<58} {:>12}{target}  {}", figure.verdict(), figure.name, figure.text(), figure.note);
        }
    }

    pub fn missed(&self) -> usize {
        self.sections.iter().flat_map(|(_, figures)| figures).filter(|figure| figure.verdict() == "MISS").count()
    }

    /// Writes the page: `head`, then a table for each section.
    pub fn write(&self, path: &Path, head: &str) -> io::Result<()> {
        let mut page = head.to_owned();
        for (title, figures) in &self.sections {
            let table = "| figure | measured | target | | note |\n|---|--:|--:|---|---|\n";
            page.push_str(&format!("\n## {title}\n\n{table}"));
            for figure in figures {
                writeln!(
                    page,
                    "| {} | {} | {} | {} | {} |",
                    figure.name,
                    figure.text(),
                    figure.target_text(),
                    figure.verdict(),
                    figure.note
                )
                .expect("writing to a string");
            }
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, page)
    }
}

impl Figure {
    pub fn at_most(&mut self, target: f64) -> &mut Self {
        self.target = Some(Target::AtMost(target));
        self
    }

    pub fn at_least(&mut self, target: f64) -> &mut Self {
        self.target = Some(Target::AtLeast(target));
        self
    }

    pub fn note(&mut self, note: impl Into<String>) -> &mut Self {
        self.note = note.into();
        self
    }

    fn verdict(&self) -> &'static str {
        match self.target {
            None => "",
            Some(Target::AtMost(target)) if self.value <= target => "OK",
            Some(Target::AtLeast(target)) if self.value >= target => "OK",
            Some(_) => "MISS",
        }
    }

    fn text(&self) -> String {
        number(self.value, &self.unit)
    }

    fn target_text(&self) -> String {
        match self.target {
            None => String::new(),
            Some(Target::AtMost(target)) => format!("≤ {}", number(target, &self.unit)),
            Some(Target::AtLeast(target)) => format!("≥ {}", number(target, &self.unit)),
        }
    }
}

fn number(value: f64, unit: &str) -> String {
    if value.is_nan() {
        return "not measured".to_owned();
    }
    let digits = match value.abs() {
        _ if value.fract() == 0.0 => 0,
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}").trim_end().to_owned()
}
