'use client'

import { usePathname, useSearchParams } from 'next/navigation'
import { useEffect, useState } from 'react'

/** Milliseconds after which the bar gives up: the navigation was cancelled, or failed with a message of its own. */
const longest = 20_000

/** The link with which this click makes the router open another page; undefined if it does not. */
function linkOfPage(event: MouseEvent): HTMLAnchorElement | undefined {
  const link = event.target instanceof Element ? event.target.closest('a[href]') : null
  if (!(link instanceof HTMLAnchorElement) || event.button !== 0 || event.defaultPrevented) return undefined
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return undefined
  if (link.target === '_blank' || link.hasAttribute('download') || link.origin !== location.origin) return undefined
  return link.pathname !== location.pathname || link.search !== location.search ? link : undefined
}
function unmark(): void {
  for (const link of document.querySelectorAll('a[data-pending]')) link.removeAttribute('data-pending')
}

/** A thin bar at the top while the next page loads, and a mark on the clicked link, at once. The present page stays until then. */
export function NavigationProgress() {
  const [begun, setBegun] = useState(0)
  const address = `${usePathname()}?${useSearchParams()}`
  const [arrived, setArrived] = useState(address)
  if (arrived !== address) {
    setArrived(address)
    setBegun(0)
  }
  useEffect(() => {
    const onClick = (event: MouseEvent) => {
      // In the capture phase, before a link prevents the default action to navigate by itself.
      const link = linkOfPage(event)
      if (!link) return
      unmark()
      link.setAttribute('data-pending', '')
      setBegun((before) => before + 1)
    }
    window.addEventListener('click', onClick, { capture: true })
    return () => window.removeEventListener('click', onClick, { capture: true })
  }, [])
  useEffect(() => {
    if (begun === 0) return unmark()
    const timer = setTimeout(() => setBegun(0), longest)
    return () => clearTimeout(timer)
  }, [begun])
  if (begun === 0) return null
  return (
    <div key={begun} aria-hidden className="fixed inset-x-0 top-0 z-50 h-0.5 print:hidden">
      <div className="h-full w-2/5 bg-accent motion-safe:animate-[slide_1.2s_ease-in-out_infinite]" />
    </div>
  )
}
