'use client'

import { type ComponentType, Suspense, useState } from 'react'

/**
 * A part of a page that loads after the page. It has its own boundary: without one, nothing on the page reacts to a click until all parts are
 * loaded. `Later` comes from `next/dynamic`, so the server renders it, and nothing moves when the page is opened by its address. After a
 * navigation within the console it would appear a moment after the rest, unless `preload` was called before: then it appears with the page.
 */
export function laterPart<P extends object>(Later: ComponentType<P>, load: () => Promise<ComponentType<P>>) {
  let loaded: ComponentType<P> | undefined
  function LaterPart(props: P) {
    // Another component would lose the state, so one that was rendered stays.
    const [Loaded] = useState(() => loaded)
    if (Loaded) return <Loaded {...props} />
    return (
      <Suspense>
        <Later {...props} />
      </Suspense>
    )
  }
  return Object.assign(LaterPart, {
    /** In browsers only. A failed load is repeated when the part is rendered. */
    async preload(): Promise<void> {
      loaded ??= await load().catch(() => undefined)
    },
  })
}
