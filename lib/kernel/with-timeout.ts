/** The result of the work. @throws `late` after this many milliseconds, while the work continues */
export async function withTimeout<T>(milliseconds: number, work: Promise<T>, late: Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_, refuse) => {
    timer = setTimeout(() => refuse(late), milliseconds)
  })
  work.catch(() => {}) // avoids an unhandled rejection if the work fails later
  return Promise.race([work, over]).finally(() => clearTimeout(timer))
}
