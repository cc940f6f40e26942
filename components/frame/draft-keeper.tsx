'use client'

import { useLayoutEffect } from 'react'
import { claimDrafts } from './draft.ts'

/** Lets nobody find what another typed. Before any form looks for its draft: those look in effects, which come later. */
export function DraftKeeper({ accountId }: { accountId: string }) {
  useLayoutEffect(() => claimDrafts(accountId), [accountId])
  return null
}
