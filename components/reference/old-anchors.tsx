'use client'

import { useRouter } from 'next/navigation'
import { useEffect } from 'react'

/** Passes an anchor that this page no longer contains to the server, which knows the page of its operation. */
export function OldAnchors() {
  const router = useRouter()
  useEffect(() => {
    const anchor = decodeURIComponent(window.location.hash.slice(1))
    if (/^[\w-]+$/.test(anchor) && !document.getElementById(anchor))
      router.replace(`/docs/api?anchor=${encodeURIComponent(anchor)}`)
  }, [router])
  return null
}
