//! Measures prompt evaluation and generation speed of a model on this machine: `speed FILE.gguf [threads] [batch]`.
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use std::time::Instant;
fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let file = args.next().expect("file");
    let threads: i32 = args.next().map_or(1, |a| a.parse().expect("threads"));
    let chunk: usize = args.next().map_or(64, |a| a.parse().expect("batch"));
    let backend = LlamaBackend::init()?;
    let t = Instant::now();
    let model = LlamaModel::load_from_file(&backend, &file, &LlamaModelParams::default())?;
    println!("load {:.2} s", t.elapsed().as_secs_f32());
    let params = LlamaContextParams::default()
        .with_n_ctx(std::num::NonZeroU32::new(4096))
        .with_n_batch(512)
        .with_n_ubatch(512)
        .with_n_threads(threads)
        .with_n_threads_batch(threads);
    let mut ctx = model.new_context(&backend, params)?;
    let text = "The quick brown fox jumps over the lazy dog near the river bank while 小猫在睡觉。 ".repeat(60);
    let tokens: Vec<LlamaToken> =
        model.vocab().tokenize(text.as_bytes(), false, false).into_iter().take(1024).collect();
    let mut batch = LlamaBatch::new(512, 1);
    let t = Instant::now();
    for (i, c) in tokens.chunks(chunk).enumerate() {
        batch.clear();
        for (j, tok) in c.iter().enumerate() {
            batch.add(*tok, (i * chunk + j) as i32, &[0], j + 1 == c.len())?;
        }
        ctx.decode(&mut batch)?;
    }
    ctx.synchronize();
    let s = t.elapsed().as_secs_f32();
    println!(
        "read {} tokens in {s:.2} s: {:.1} t/s (batch {chunk}, threads {threads})",
        tokens.len(),
        tokens.len() as f32 / s
    );
    let t = Instant::now();
    for i in 0..32 {
        batch.clear();
        batch.add(LlamaToken(785 + i), (tokens.len() as i32) + i, &[0], true)?;
        ctx.decode(&mut batch)?;
    }
    ctx.synchronize();
    println!("write {:.1} t/s", 32.0 / t.elapsed().as_secs_f32());
    Ok(())
}
