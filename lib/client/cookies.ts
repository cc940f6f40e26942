/**
 * A fetch with an in-memory cookie jar for one origin and one run. Marks its requests as same-origin, because no page
 * of another site makes them.
 */
export function cookieFetch(call: typeof fetch = fetch): typeof fetch {
  const retained = new Map<string, string>()
  return async (input, init) => {
    const headers = new Headers(init?.headers)
    if (retained.size > 0) headers.set('Cookie', [...retained].map(([name, value]) => `${name}=${value}`).join('; '))
    headers.set('Sec-Fetch-Site', 'same-origin')
    const response = await call(input, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';')
      const at = pair.indexOf('=')
      const [name, value] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
      const isOver = attributes.some((one) => {
        const [word = '', said = ''] = one.trim().split('=')
        return (
          (/^max-age$/i.test(word) && Number(said) <= 0) || (/^expires$/i.test(word) && Date.parse(said) <= Date.now())
        )
      })
      if (at <= 0) continue
      if (value === '' || isOver) retained.delete(name)
      else retained.set(name, value)
    }
    return response
  }
}
