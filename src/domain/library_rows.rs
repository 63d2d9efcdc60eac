//! The rows of a library in a database: what the index computes and the database stores. Terms are numbers: no word is stored
//! but in the text of its chunk.

/// A file with its chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryFile {
    pub path: String,
    /// The state of the file, as JSON.
    pub state: String,
    pub chunks: Vec<ChunkRow>,
    /// Sum of the lengths of the windows around its centres, in 1024ths of a word.
    pub windows: i64,
    /// Number of windows.
    pub centres: i64,
}

/// A chunk of a file; its place in the file is its number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChunkRow {
    /// By which the files are sorted.
    pub file_order: i64,
    /// The key of its vector.
    pub key: i64,
    /// Its writing system, as a number.
    pub script: i16,
    /// Number of its words: the first numbers in `sequence`.
    pub words: i32,
    /// The numbers of its words and then of its characters, in their order, 8 bytes each, little-endian.
    pub sequence: Vec<u8>,
    pub units: Vec<u8>,
    /// Byte offset in the document, and the first and last line, or zeros.
    pub start: i32,
    pub lines: (i32, i32),
    /// The chunk as it is displayed, as JSON.
    pub body: Vec<u8>,
}

/// A chunk that may be an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchedRow {
    pub id: ChunkId,
    pub chunk: ChunkRow,
    /// The cosine of its vector and that of the question; absent if one of them is missing.
    pub cosine: Option<f64>,
}

/// The identity of a chunk: the number of its file, and its place there in the lower [`ChunkId::PLACE_BITS`] bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId(pub i64);

impl ChunkId {
    pub const PLACE_BITS: u32 = 24;

    /// Returns whether `self` and `other` are chunks of one file.
    pub fn is_of_same_file(self, other: Self) -> bool {
        self.0 >> Self::PLACE_BITS == other.0 >> Self::PLACE_BITS
    }
}

/// A chunk that has some of the words of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct WordMatch {
    pub id: ChunkId,
    pub file_order: i64,
    /// See [`ChunkRow`].
    pub words: i32,
    pub sequence: Vec<u8>,
}

/// Figures of all chunks of a library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LibraryTotals {
    pub chunks: i64,
    /// Words of all chunks.
    pub length: i64,
    /// Sum of the lengths of windows, in 1024ths of a word.
    pub windows: i64,
    /// Number of windows.
    pub centres: i64,
    /// Chunks that have a vector.
    pub embedded: i64,
}

/// The mean of the vectors of the chunks in one writing system.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptMean {
    pub script: i16,
    pub chunks: i64,
    pub mean: Vec<f32>,
}
