package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"os/exec"
	"strings"
	"time"
)

// framesPerSecond of a video.
const framesPerSecond = 10

// Video has ffmpeg write the frames as an MP4 over the file at path, whatever that
// is called. The error says when there is no ffmpeg, or what it said last.
func Video(ctx context.Context, path string, frames []Frame, o Options) error {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		return errors.New("a video needs ffmpeg, which is not installed; .gif and .svg need no other program")
	}
	c, err := newCanvas(frames, o)
	if err != nil {
		return err
	}
	size := c.img.Rect.Size()
	cmd := exec.CommandContext(ctx, program, "-hide_banner", "-loglevel", "error", "-y",
		"-f", "rawvideo", "-pix_fmt", "rgba", "-s", fmt.Sprintf("%dx%d", size.X, size.Y), "-r", fmt.Sprint(framesPerSecond), "-i", "-",
		"-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-f", "mp4", "file:"+path)
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("ffmpeg can't be run: %w", err)
	}
	picture := image.NewRGBA(c.img.Rect)
	next := 0
	for t := time.Duration(0); t < frames[len(frames)-1].Until; t += time.Second / framesPerSecond {
		for next < len(frames) && frames[next].At <= t {
			c.show(frames[next])
			next++
		}
		draw.Draw(picture, picture.Rect, c.img, image.Point{}, draw.Src)
		if _, err = in.Write(picture.Pix); err != nil {
			break
		}
	}
	err = errors.Join(in.Close(), cmd.Wait())
	if err != nil && said.Len() > 0 {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf("ffmpeg failed: %s", lines[len(lines)-1])
	}
	return err
}
