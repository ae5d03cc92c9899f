//! Link arguments of the shared library: never unloaded, its soname after the preset and what the features changed.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(hakmem_preset)");
    // Set by the build script of hakmem-alloc when a preset feature chose a C ABI.
    let Ok(preset) = std::env::var("DEP_HAKMEM_PRESET") else {
        return;
    };
    println!("cargo::rustc-cfg=hakmem_preset");
    for arg in [
        format!("-Wl,-soname,libhakmem-{preset}.so"),
        // Threads keep addresses of this library in their thread slot and exit hook.
        "-Wl,-z,nodelete".into(),
        // No lazy binding: a symbol resolved inside malloc could call malloc.
        "-Wl,-z,now".into(),
        "-Wl,-z,text".into(),
    ] {
        println!("cargo::rustc-cdylib-link-arg={arg}");
    }
}
