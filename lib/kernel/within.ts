/** The work's result, or the error `late` after so many milliseconds; the work itself goes on. */
export async function within<T>(milliseconds: number, work: Promise<T>, late: Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_, refuse) => {
    timer = setTimeout(() => refuse(late), milliseconds)
  })
  work.catch(() => {}) // when it fails later, nobody waits for it
  return Promise.race([work, over]).finally(() => clearTimeout(timer))
}
