fn main() {
    miniclaw::sandbox::supervise_if_asked();
}
