'use client'

import { useEffect } from 'react'

/** Reports the height of the page to the website that embeds it, which contains no personal data. */
export function EmbedHeight() {
  useEffect(() => {
    if (window.parent === window) return
    const report = () =>
      window.parent.postMessage({ type: 'privacy-request-height', height: document.documentElement.scrollHeight }, '*')
    const observer = new ResizeObserver(report)
    observer.observe(document.body)
    report()
    return () => observer.disconnect()
  }, [])
  return null
}
