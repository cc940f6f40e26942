'use client'

import { usePathname } from 'next/navigation'
import { useEffect, useRef } from 'react'

/** Where the focus goes when the focused element has gone: the first error, the nearest heading, or the content. */
function nextTarget(parents: readonly Element[]): HTMLElement | null {
  const scope = parents.find((parent) => parent.isConnected) ?? document.getElementById('content')
  const content = document.getElementById('content')
  const error = scope?.querySelector<HTMLElement>('[aria-invalid=true], [role=alert]')
  const heading = scope?.closest('section, main')?.querySelector<HTMLElement>('h1, h2, h3')
  return error ?? heading ?? content
}

function focusOn(target: HTMLElement | null): void {
  if (!target) return
  if (target.tabIndex < 0 && !target.hasAttribute('tabindex')) target.tabIndex = -1
  target.focus({ preventScroll: true })
}
const isLost = () => document.activeElement === null || document.activeElement === document.body

/**
 * Keeps the keyboard focus on the page. When the focused element is removed (a row after its deletion, a form after sending), the focus
 * moves to the nearest heading or the first error; after a navigation it moves to the content. Without it, the focus falls to `body`, and
 * the next Tab starts at the top.
 */
export function FocusKeeper() {
  const path = usePathname()
  const shown = useRef(path)
  useEffect(() => {
    let last: Element | undefined
    let parents: Element[] = []
    const onFocus = ({ target }: FocusEvent) => {
      if (!(target instanceof Element) || target === document.body) return
      last = target
      parents = []
      for (let above = target.parentElement; above && above !== document.body; above = above.parentElement)
        parents.push(above)
    }
    const onChange = () => {
      if (!last || last.isConnected || !isLost()) return
      last = undefined
      // Dialogs return the focus themselves, after they have closed.
      setTimeout(() => {
        if (isLost() && !document.querySelector('[role=dialog], [role=menu]')) focusOn(nextTarget(parents))
      }, 50)
    }
    const observer = new MutationObserver(onChange)
    observer.observe(document.body, { childList: true, subtree: true })
    document.addEventListener('focusin', onFocus)
    return () => {
      observer.disconnect()
      document.removeEventListener('focusin', onFocus)
    }
  }, [])
  useEffect(() => {
    if (shown.current === path) return
    shown.current = path
    if (isLost()) focusOn(document.getElementById('content'))
  }, [path])
  return null
}
