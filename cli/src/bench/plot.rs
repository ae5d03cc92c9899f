//! The figures of `bench` as a drawing: speed above, peak RSS below, a group of bars for each workload.

use anyhow::anyhow;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::bench::plot_layout::{LEFT, Layout, RIGHT, WHISKER, legend_entry, lines};
use crate::bench::report::{Results, Row};

const INK: RGBColor = RGBColor(40, 40, 40);
const GRID: RGBColor = RGBColor(225, 225, 225);
const FONT: &str = "sans-serif";

/// Pixels: height of the heading with its legend, and of each half.
const HEADING: i32 = 70;
const HALF: i32 = 340;
/// A bar as wide as its value has the value above it.
const VALUE: i32 = 26;
/// How many times as high as the highest bar a whisker may be. One that is cut has no end.
const HIGHEST: f64 = 1.5;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Draws them as SVG.
pub fn draw(results: &Results) -> anyhow::Result<String> {
    let rows: Vec<&Row> = results.rows.iter().filter(|row| !row.is_base).collect();
    let layout = Layout::of(&rows);
    let mut svg = String::new();
    let title = format!("Allocators against libc's malloc (runs: {}, scale: {})", results.runs, results.scale);
    render(&title, &rows, &layout, &mut svg).map_err(|error| anyhow!("cannot draw: {error}"))?;
    Ok(svg)
}

/// Errors as text: those of the drawing library borrow what is drawn on.
type Drawn = Result<(), String>;

fn text_of(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn render(title: &str, rows: &[&Row], layout: &Layout<'_>, svg: &mut String) -> Drawn {
    let root = SVGBackend::with_string(svg, (layout.width() as u32, (HEADING + 2 * HALF) as u32)).into_drawing_area();
    root.fill(&WHITE).map_err(text_of)?;
    let (heading, halves) = root.split_vertically(HEADING);
    draw_heading(&heading, title, layout)?;
    let (above, below) = halves.split_vertically(HALF);
    let interval = |row: &Row| Some((row.speed.low, row.speed.high));
    draw_half(&above, layout, rows, "Speed (libc = 1, more is better)", |row| row.speed.value, interval)?;
    draw_half(&below, layout, rows, "Peak RSS (libc = 1, less is better)", |row| row.rss_ratio, |_| None)?;
    root.present().map_err(text_of)
}

fn font(pixels: u32, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    // The backend divides what it takes for the height of a line.
    TextStyle::from((FONT, f64::from(pixels) * 1.24).into_font()).color(&INK).pos(Pos::new(horizontal, vertical))
}

/// The title, and which colour is whose.
fn draw_heading(area: &Area<'_>, title: &str, layout: &Layout<'_>) -> Drawn {
    let left = LEFT as i32;
    area.draw_text(title, &font(18, HPos::Left, VPos::Top), (left, 10)).map_err(text_of)?;
    let mut x = left;
    for allocator in &layout.allocators {
        let square = Rectangle::new([(x, 42), (x + 12, 54)], layout.colour(allocator).filled());
        area.draw(&square).map_err(text_of)?;
        area.draw_text(allocator, &font(13, HPos::Left, VPos::Center), (x + 18, 48)).map_err(text_of)?;
        x += legend_entry(allocator);
    }
    let whisker = PathElement::new([(x + 6, 41), (x + 6, 55)], INK.stroke_width(1));
    area.draw(&whisker).map_err(text_of)?;
    area.draw_text(WHISKER, &font(13, HPos::Left, VPos::Center), (x + 18, 48)).map_err(text_of)
}

/// One figure of all rows.
fn draw_half(
    area: &Area<'_>,
    layout: &Layout<'_>,
    rows: &[&Row],
    title: &str,
    value: impl Fn(&Row) -> f64,
    interval: impl Fn(&Row) -> Option<(f64, f64)>,
) -> Drawn {
    let limit = rows.iter().map(|row| value(row)).fold(1.0, f64::max) * HIGHEST;
    let highest = |row: &&Row| interval(row).map_or(0.0, |(_, high)| high.min(limit)).max(value(row));
    // Room for the values above the bars.
    let top = rows.iter().map(highest).fold(1.0, f64::max) * 1.12;
    let groups = layout.workloads.len() as f64;
    let mut chart = ChartBuilder::on(area)
        .margin_top(30)
        .margin_right(RIGHT)
        .x_label_area_size(56)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(0.0..groups, 0.0..top)
        .map_err(text_of)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .y_labels(8)
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style(font(12, HPos::Right, VPos::Center))
        .y_label_formatter(&|value| format!("{value:.1}"))
        .draw()
        .map_err(text_of)?;
    area.draw_text(title, &font(14, HPos::Left, VPos::Top), (LEFT as i32, 6)).map_err(text_of)?;
    for row in rows {
        draw_bar(&mut chart, layout, row, value(row), interval(row), limit)?;
    }
    let one = PathElement::new([(0.0, 1.0), (groups, 1.0)], INK.stroke_width(1));
    chart.draw_series([one]).map_err(text_of)?;
    draw_names(area, &chart, layout)
}

/// A bar, its whisker, and its value where there is room for it.
fn draw_bar(
    chart: &mut Chart<'_, '_>,
    layout: &Layout<'_>,
    row: &Row,
    value: f64,
    interval: Option<(f64, f64)>,
    limit: f64,
) -> Drawn {
    let (left, right) = layout.bar(row);
    let (middle, gap) = ((left + right) / 2.0, (right - left) * 0.08);
    let bar = Rectangle::new([(left + gap, 0.0), (right - gap, value)], layout.colour(&row.allocator).filled());
    chart.draw_series([bar]).map_err(text_of)?;
    let mut top = value;
    if let Some((low, high)) = interval {
        let half = (right - left) * 0.2;
        let line = |from, to| PathElement::new([from, to], INK.stroke_width(1));
        let ends = [low, high].into_iter().filter(|&end| end <= limit);
        let ends = ends.map(|end| line((middle - half, end), (middle + half, end)));
        let high = high.min(limit);
        chart.draw_series([line((middle, low), (middle, high))].into_iter().chain(ends)).map_err(text_of)?;
        top = top.max(high);
    }
    if layout.bar >= VALUE {
        let above = EmptyElement::at((middle, top))
            + Text::new(format!("{value:.2}"), (0, -3), font(11, HPos::Center, VPos::Bottom));
        chart.draw_series([above]).map_err(text_of)?;
    }
    Ok(())
}

/// The workloads' names below their groups.
fn draw_names(area: &Area<'_>, chart: &Chart<'_, '_>, layout: &Layout<'_>) -> Drawn {
    let origin = area.get_base_pixel();
    for (index, workload) in layout.workloads.iter().enumerate() {
        let (x, y) = chart.plotting_area().map_coordinate(&(index as f64 + 0.5, 0.0));
        for (line, part) in lines(workload).iter().enumerate() {
            let place = (x - origin.0, y - origin.1 + 8 + 15 * line as i32);
            area.draw_text(part, &font(13, HPos::Center, VPos::Top), place).map_err(text_of)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::plot_layout::COLOURS;
    use crate::bench::summary::Estimate;

    fn row(workload: &'static str, allocator: &str, speed: f64) -> Row {
        Row {
            workload,
            allocator: allocator.into(),
            is_base: allocator == "libc",
            seconds: vec![1.0],
            speed: Estimate { value: speed, low: speed * 0.9, high: speed * 1.1 },
            ns_per_operation: 1.0,
            peak_rss_kb: 2000.0,
            rss_ratio: 1.2,
            instructions: None,
        }
    }

    fn drawn(rows: Vec<Row>) -> String {
        draw(&Results { scale: 0.5, runs: 7, sides: Vec::new(), rows }).unwrap()
    }

    fn bars(svg: &str) -> usize {
        COLOURS.iter().map(|RGBColor(r, g, b)| svg.matches(&format!("#{r:02X}{g:02X}{b:02X}")).count()).sum()
    }

    #[test]
    fn each_figure_is_a_bar_and_each_name_is_there() {
        let rows = ["mixed", "cross-thread-100"].map(|workload| {
            [row(workload, "libc", 1.0), row(workload, "mixed", 1.53), row(workload, "jemalloc", 0.87)]
        });
        let svg = drawn(rows.into_iter().flatten().collect());
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        // Two workloads, two allocators, two halves, and the legend.
        assert_eq!(bars(&svg), 2 * 2 * 2 + 2);
        for name in [
            "mixed",
            "jemalloc",
            "thread-100",
            "1.53",
            "0.87",
            "1.20",
            "95 % interval",
            "Allocators against libc&apos;s malloc (runs: 7, scale: 0.5)",
        ] {
            assert!(svg.contains(&format!("\n{name}\n")), "{name}: {svg}");
        }
    }

    #[test]
    fn many_bars_are_narrow_and_have_no_values() {
        let rows: Vec<Row> = (0..50).map(|index| row("mixed", &format!("a{index}"), 1.53)).collect();
        let svg = drawn(rows);
        assert_eq!(bars(&svg), 3 * 50);
        assert!(!svg.contains("\n1.53\n"));
    }
}
