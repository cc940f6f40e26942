'use client'

import { useEffect, useState } from 'react'

/** The secret in the URL fragment, which browsers never send to a server; undefined before the first effect, empty if there is none. */
export function useFragment(): string | undefined {
  const [secret, setSecret] = useState<string>()
  useEffect(() => {
    const read = () => setSecret(window.location.hash.replace(/^#/, ''))
    read()
    window.addEventListener('hashchange', read)
    return () => window.removeEventListener('hashchange', read)
  }, [])
  return secret
}
