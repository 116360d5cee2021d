// Package export turns a recorded screen (an asciicast) into pictures: an
// animated GIF or SVG, a PNG of one moment, or frames for a video program.
//
// What may live here: reading casts, the course of a film made of one, drawing
// cells as pixels or as SVG. Box drawing, blocks, braille and the screen's signs
// that the font lacks are drawn here. What may not: knowing what a screen means,
// or running anything but ffmpeg.
package export
