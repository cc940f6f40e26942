'use client'

import { useLoaded } from '#components/ui/loaded.ts'

const parts = () => import('./header-parts.tsx')

/** Running work and notifications. They are loaded after the page, which does not wait for them. */
export function HeaderState({ hasNotices }: { hasNotices: boolean }) {
  const loaded = useLoaded(parts, true)
  return loaded ? (
    <>
      <loaded.WorkIndicator />
      {hasNotices && <loaded.NoticeBell />}
    </>
  ) : (
    hasNotices && <span className="size-8" />
  )
}
