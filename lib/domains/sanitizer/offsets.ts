/**
 * Maps offsets in a copy of a text to the text, where some characters have another length in the copy. Each lookup is a binary search over
 * these characters, so lookups may be in any order.
 */
export class Offsets {
  /** The character's start and end in the copy, and in the text. */
  readonly #copyStarts: number[] = []
  readonly #copyEnds: number[] = []
  readonly #starts: number[] = []
  readonly #ends: number[] = []
  #shift = 0

  /** Adds a character from left to right: its offset and length in the text, and its length in the copy. */
  add(start: number, length: number, copied: number): void {
    if (length === copied) return
    this.#copyStarts.push(start + this.#shift)
    this.#copyEnds.push(start + this.#shift + copied)
    this.#starts.push(start)
    this.#ends.push(start + length)
    this.#shift += copied - length
  }

  /** The offset in the text of the character at `offset` in the copy. */
  back(offset: number): number {
    let [low, high] = [0, this.#copyStarts.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#copyStarts[middle] ?? 0) <= offset) low = middle + 1
      else high = middle
    }
    if (low === 0) return offset
    const end = this.#copyEnds[low - 1] ?? 0
    return offset < end ? (this.#starts[low - 1] ?? 0) : (this.#ends[low - 1] ?? 0) + offset - end
  }
}
