'use client'

import { useLayoutEffect } from 'react'
import { claimDrafts } from './draft.ts'

/** Deletes drafts of another account. Runs in a layout effect, so before any form reads its draft. */
export function DraftKeeper({ accountId }: { accountId: string }) {
  useLayoutEffect(() => claimDrafts(accountId), [accountId])
  return null
}
