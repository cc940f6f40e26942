'use client'

import { createContext, type ReactNode, use } from 'react'

const ApprovalContext = createContext(false)

/** `isRequired`: consequential actions of this reader need the approval of another admin. */
export const ApprovalMode = ({ isRequired, children }: { isRequired: boolean; children: ReactNode }) => (
  <ApprovalContext value={isRequired}>{children}</ApprovalContext>
)

/** Whether consequential actions of the reader need the approval of another admin. */
export const useApprovalMode = (): boolean => use(ApprovalContext)
