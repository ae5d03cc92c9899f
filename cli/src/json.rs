//! The JSON of `hakmem presets`. Its help documents the keys: they stay.

use hakmem::config::bins::{Large, Small, Tables};
use hakmem::config::{Class, Knob, Route, Standing};
use serde_json::{Value, json};

use crate::knobs::{variables_of_knob, variables_of_route};
use crate::preset::Preset;
use crate::show;

/// What the list has of a preset.
pub fn brief(preset: &Preset) -> Value {
    json!({
        "name": preset.name,
        "summary": preset.summary,
        "hakmem": Some(&preset.hakmem).filter(|name| !name.is_empty()),
        "type": preset.type_name,
        "feature": preset.feature(),
        "profile": preset.profile,
        "library": preset.library(),
        "file": preset.file.as_ref().map(|path| path.display().to_string()),
    })
}

/// All of a preset.
pub fn full(preset: &Preset) -> Value {
    let mut all = brief(preset);
    let (words, geometry) = (preset.words, preset.words.geometry());
    let tables = Tables::of(&geometry);
    let classes = Class::ALL.map(|class| {
        let (least, most) = show::band(class, &tables);
        json!({
            "class": class.name(),
            "least": least,
            "most": most,
            "route": words.routes().of(class).map(Route::name),
            "magazine": geometry.magazine[class as usize],
            "preallocated": geometry.preallocated.has(class),
        })
    });
    let knobs = Knob::ALL.iter().filter(|&&knob| words.has(knob));
    let knobs =
        knobs.map(|&knob| json!({ "name": knob.name(), "summary": knob.summary(), "standing": standing(knob) }));
    let bins = show::bins(&tables).map(|(bin, shape)| {
        json!({
            "bin": bin,
            "size": shape.size,
            "class": shape.class.name(),
            "blocks": shape.blocks,
            "magazine": shape.capacity,
            "first": shape.first,
        })
    });
    // As strings: a number of JSON has not the bits.
    all["words"] = json!({
        "routes": format!("{:#x}", words.routes),
        "knobs": format!("{:#x}", words.knobs),
        "bins": format!("{:#x}", words.bins),
        "numbers": format!("{:#x}", words.numbers),
    });
    all["classes"] = json!(classes);
    all["knobs"] = knobs.collect();
    all["awaits"] = json!(preset.awaits);
    all["geometry"] = json!({
        "page": geometry.page,
        "segment": geometry.segment,
        "magazine_bytes": geometry.magazine_bytes,
        "first_bytes": geometry.first_bytes,
    });
    let small = match show::small_form(words, &tables) {
        Small::Steps(_) => "steps",
        Small::Log2 => "log2",
        Small::Table => "table",
    };
    let large = match tables.large_form {
        Large::Quarters => "quarters",
        Large::Table => "table",
    };
    all["look_up"] = json!({ "small": small, "large": large });
    all["bins"] = bins.collect();
    all
}

/// Every knob and every route.
pub fn knobs() -> Value {
    let knobs = Knob::ALL.iter().map(|&knob| {
        json!({
            "name": knob.name(),
            "summary": knob.summary(),
            "standing": standing(knob),
            "refusal": Some(knob.refusal()).filter(|why| !why.is_empty()),
            "variables": variables_of_knob(knob),
        })
    });
    let routes = Route::ALL.into_iter().map(|route| {
        let classes = Class::ALL.into_iter().filter(|&class| route.classes().has(class));
        json!({
            "name": route.name(),
            "classes": classes.map(Class::name).collect::<Vec<_>>(),
            "ready": route.ready(),
            "variables": variables_of_route(route),
        })
    });
    json!({ "knobs": knobs.collect::<Vec<_>>(), "routes": routes.collect::<Vec<_>>() })
}

fn standing(knob: Knob) -> &'static str {
    match knob.standing() {
        Standing::Ready => "ready",
        Standing::BuiltIn => "built-in",
        Standing::Missing => "missing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::tests::mixed;

    /// The keys of an object, or of the first one of a list.
    fn keys(value: &Value) -> Vec<&str> {
        let value = value.get(0).unwrap_or(value);
        value.as_object().expect("an object").keys().map(String::as_str).collect()
    }

    #[test]
    fn the_keys_of_a_preset_stay() {
        let mixed = full(&mixed());
        let expected = [
            "awaits", "bins", "classes", "feature", "file", "geometry", "hakmem", "knobs", "library", "look_up",
            "name", "profile", "summary", "type", "words",
        ];
        assert_eq!(keys(&mixed), expected);
        assert_eq!(keys(&mixed["words"]), ["bins", "knobs", "numbers", "routes"]);
        assert_eq!(keys(&mixed["classes"]), ["class", "least", "magazine", "most", "preallocated", "route"]);
        assert_eq!(keys(&mixed["knobs"]), ["name", "standing", "summary"]);
        assert_eq!(keys(&mixed["geometry"]), ["first_bytes", "magazine_bytes", "page", "segment"]);
        assert_eq!(keys(&mixed["look_up"]), ["large", "small"]);
        assert_eq!(keys(&mixed["bins"]), ["bin", "blocks", "class", "first", "magazine", "size"]);

        assert_eq!(mixed["words"]["bins"], "0xaaaaaaaaaaffffffffffffffff");
        assert_eq!(mixed["look_up"], json!({ "small": "steps", "large": "quarters" }));
        assert_eq!((&mixed["type"], &mixed["file"]), (&json!("Mixed"), &Value::Null));
        let bins = mixed["bins"].as_array().unwrap();
        let last = json!({ "bin": 84, "size": 32768, "class": "C7", "blocks": 2, "magazine": 2, "first": 2 });
        assert_eq!((bins.len(), bins.last()), (84, Some(&last)));
    }

    #[test]
    fn the_keys_of_the_knobs_stay() {
        let knobs = knobs();
        assert_eq!(keys(&knobs), ["knobs", "routes"]);
        assert_eq!(keys(&knobs["knobs"]), ["name", "refusal", "standing", "summary", "variables"]);
        assert_eq!(keys(&knobs["routes"]), ["classes", "name", "ready", "variables"]);
        let of = |name: &str| knobs["knobs"].as_array().unwrap().iter().find(|knob| knob["name"] == name).unwrap();
        let dualhot = of("free-dualhot");
        assert_eq!((&dualhot["standing"], &dualhot["refusal"]), (&json!("ready"), &Value::Null));
        assert_eq!(dualhot["variables"], json!(["HAKMEM_FREE_TINY_FAST_HOTCOLD"]));
        assert_eq!(of("static-route")["standing"], "built-in");
        assert!(of("larson-fix")["refusal"].as_str().unwrap().contains("not built"));
    }
}
