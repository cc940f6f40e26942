'use client'

import { useAsked, useChange } from '#components/frame/asking.ts'
import { eraseConversationAt, eraseDocumentAt, eraseMessageAt, type Plan, type Target } from './places.ts'

const dry = { dry_run: 'true' } as const
const reasons = ['user_request', 'gdpr_erasure', 'deal_closure'] as const
export type Reason = (typeof reasons)[number]
export const erasureReasons = reasons
type Answer = { data: Plan } | { auditId: string }

const planIn = (answer: Answer | undefined): Plan | undefined =>
  answer !== undefined && 'data' in answer ? answer.data : undefined

/**
 * The dry run and the erasure of one item, with the operation that matches its kind. The plan is not refreshed while the erasure request is
 * pending.
 */
export function useErasing(projectId: string, { kind, id, conversation = '' }: Target) {
  const params = {
    message: { projectId, conversationId: conversation, messageId: id },
    conversation: { projectId, conversationId: id },
    document: { projectId, documentId: id },
  }
  // Quiet: the item on this page no longer exists afterwards. The caller refreshes lists, see `begin`.
  const options = { isQuiet: true }
  const changes = {
    message: useChange(eraseMessageAt, options),
    conversation: useChange(eraseConversationAt, options),
    document: useChange(eraseDocumentAt, options),
  }
  const change = changes[kind]
  const isSent = change.isPending || change.isSuccess
  const enabled = (which: Target['kind']) => ({ enabled: which === kind && !isSent })
  const plans = {
    message: useAsked(eraseMessageAt, { params: params.message, query: dry }, enabled('message')),
    conversation: useAsked(eraseConversationAt, { params: params.conversation, query: dry }, enabled('conversation')),
    document: useAsked(eraseDocumentAt, { params: params.document, query: dry }, enabled('document')),
  }
  const asked = plans[kind]
  return {
    plan: planIn(asked.data),
    isLooking: asked.isFetching && asked.data === undefined,
    planProblem: asked.problem,
    lookAgain: () => void asked.refetch(),
    isPending: change.isPending,
    problem: change.problem,
    reset: change.reset,
    /** Starts the erasure. `done` receives the id of its progress page. */
    begin: (reason: Reason, redacts: boolean, done: (auditId: string) => void) => {
      const query = redacts ? ({ redact: 'true' } as const) : {}
      const tell = (answer: Answer) => {
        if ('auditId' in answer) done(answer.auditId)
      }
      const body = { reason }
      if (kind === 'message') changes.message.begin({ params: params.message, query, body }, tell)
      else if (kind === 'conversation') changes.conversation.begin({ params: params.conversation, query, body }, tell)
      else changes.document.begin({ params: params.document, query, body }, tell)
    },
  }
}
