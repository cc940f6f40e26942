/** Pixels of the neighbor that stay visible, to show that there are more links. */
const margin = 32

/** The scroll position in pixels that shows the item: the current one if the item is in view, otherwise the nearest one. */
export function scrolledTo(item: { start: number; width: number }, view: { left: number; width: number }): number {
  const end = item.start + item.width
  if (item.start < view.left || item.width > view.width) return Math.max(0, item.start - margin)
  if (end > view.left + view.width) return end - view.width + margin
  return view.left
}
