//! Whether this processor has what llama.cpp was compiled for; otherwise the first computation would end the
//! process without a word.

/// # Errors
/// A sentence that says what is missing.
pub fn fits() -> Result<(), String> {
    #[cfg(target_arch = "x86_64")]
    {
        let has = |name: &str| flags().split_whitespace().any(|f| f == name);
        let mut needed = vec!["avx2", "fma", "f16c", "bmi2"];
        if option_env!("GGML_AVX512") == Some("ON") {
            needed.extend(["avx512f", "avx512_vnni", "avx512vbmi"]);
        }
        let missing: Vec<&str> = needed.into_iter().filter(|n| !flags().is_empty() && !has(n)).collect();
        if !missing.is_empty() {
            return Err(format!(
                "this program was compiled for a processor with {}, which this one lacks; compile it on this machine",
                missing.join(", ")
            ));
        }
    }
    Ok(())
}

/// The processor's abilities as the kernel lists them; empty where there is no such list.
#[cfg(target_arch = "x86_64")]
fn flags() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|l| l.starts_with("flags"));
    line.and_then(|l| l.split_once(':')).map(|(_, flags)| flags.to_owned()).unwrap_or_default()
}

/// Threads to compute with: one on one or two cores, where a second only waits in a loop for the first
/// whenever anything else runs; else half of what the system offers.
pub fn default_threads() -> i32 {
    let offered = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    i32::try_from(if offered <= 2 { 1 } else { offered / 2 }).unwrap_or(1)
}
