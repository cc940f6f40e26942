'use client'

import { useEffect } from 'react'

/** Passes an anchor that this page no longer contains to the server, which knows the page of its operation. */
export function OldAnchors() {
  useEffect(() => {
    const anchor = decodeURIComponent(window.location.hash.slice(1))
    // A navigation of the browser: a redirect inside the router would lose the anchor.
    if (/^[\w-]+$/.test(anchor) && !document.getElementById(anchor))
      window.location.replace(`/docs/api?anchor=${encodeURIComponent(anchor)}`)
  }, [])
  return null
}
