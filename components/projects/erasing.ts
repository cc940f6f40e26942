'use client'

import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import {
  eraseConversationAt,
  eraseDocumentAt,
  eraseMessageAt,
  type PartErasurePlan,
  type PlannedPart,
} from './endpoints.ts'

const dry = { dry_run: 'true' } as const
const reasons = ['user_request', 'gdpr_erasure', 'deal_closure'] as const
export type ErasureReason = (typeof reasons)[number]
export const shownErasureReasons = reasons
type Answer = { data: PartErasurePlan } | { auditId: string }

const planIn = (answer: Answer | undefined): PartErasurePlan | undefined =>
  answer !== undefined && 'data' in answer ? answer.data : undefined

/**
 * The dry run and the erasure of one item, with the operation that matches its kind. The plan is not refreshed while the erasure request is
 * pending.
 */
export function useErasing(projectId: string, { kind, id, conversation = '' }: PlannedPart) {
  const params = {
    message: { projectId, conversationId: conversation, messageId: id },
    conversation: { projectId, conversationId: id },
    document: { projectId, documentId: id },
  }
  // Quiet: the item on this page no longer exists afterwards. The caller refreshes lists, see `begin`.
  const options = { isQuiet: true }
  const changes = {
    message: useApiMutation(eraseMessageAt, options),
    conversation: useApiMutation(eraseConversationAt, options),
    document: useApiMutation(eraseDocumentAt, options),
  }
  const change = changes[kind]
  const isSent = change.isPending || change.isSuccess
  const enabled = (which: PlannedPart['kind']) => ({ enabled: which === kind && !isSent })
  const plans = {
    message: useApiQuery(eraseMessageAt, { params: params.message, query: dry }, enabled('message')),
    conversation: useApiQuery(
      eraseConversationAt,
      { params: params.conversation, query: dry },
      enabled('conversation'),
    ),
    document: useApiQuery(eraseDocumentAt, { params: params.document, query: dry }, enabled('document')),
  }
  const asked = plans[kind]
  return {
    plan: planIn(asked.data),
    isLooking: asked.isFetching && asked.data === undefined,
    planProblem: asked.problem,
    isPending: change.isPending,
    problem: change.problem,
    reset: change.reset,
    /** Starts the erasure. `done` receives the id of its progress page. */
    begin: (reason: ErasureReason, redacts: boolean, done: (auditId: string) => void) => {
      const query = redacts ? ({ redact: 'true' } as const) : {}
      const report = (answer: Answer) => {
        if ('auditId' in answer) done(answer.auditId)
      }
      const body = { reason }
      if (kind === 'message') changes.message.begin({ params: params.message, query, body }, report)
      else if (kind === 'conversation') changes.conversation.begin({ params: params.conversation, query, body }, report)
      else changes.document.begin({ params: params.document, query, body }, report)
    },
  }
}
export type Erasing = ReturnType<typeof useErasing>
