'use client'

import { useEffect, useRef, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { type Endpoint, type RequestInput, RequestRefused } from '#lib/client/request.ts'
import type { fileRequest } from '#lib/domains/privacy-requests/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { isWrongPassword } from './filing-rules.ts'

const fileAt: Endpoint<typeof fileRequest> = { method: 'post', path: '/api/privacy/requests' }
export type FiledRequestAnswer = Output<typeof fileRequest>
type Body = NonNullable<RequestInput<typeof fileRequest>['body']>

/**
 * Files a request with the password in `input`, and clears the input after success. `byLink`: without the password, so that an email with a link
 * asks for the confirmation. `isQuiet`: the caller decides what is shown next.
 */
export function useFiling({ hasPassword, isQuiet = false }: { hasPassword: boolean; isQuiet?: boolean }) {
  const input = useRef<HTMLInputElement>(null)
  const [isMissing, setMissing] = useState(false)
  const change = useApiMutation(fileAt, { touches: ['/api/privacy'], isQuiet })
  const isWrong = isWrongPassword(change.problem)
  const error: unknown = change.error
  useEffect(() => {
    if (isWrong && error) input.current?.focus()
  }, [isWrong, error])
  return {
    input,
    fault: isMissing ? ('missing' as const) : isWrong ? ('wrong' as const) : undefined,
    isPending: change.isPending,
    /** The person cancelled the confirmation with their second factor, which they may have lost. */
    isUnconfirmed: error instanceof RequestRefused && error.problem.code === 'step_up_required',
    answer: change.data,
    /** The refusal, except for a wrong password, which is shown at its field, and for a cancelled confirmation. */
    refusal: error instanceof RequestRefused && change.problem && !isWrong ? error : undefined,
    file(body: Omit<Body, 'password'>, done: (filed: FiledRequestAnswer) => void, { byLink = false } = {}) {
      const password = hasPassword && !byLink ? (input.current?.value ?? '') : undefined
      setMissing(password === '')
      if (password === '') return input.current?.focus()
      change.begin({ body: { ...body, ...(password !== undefined && { password }) } }, (filed) => {
        if (input.current) input.current.value = ''
        done(filed)
      })
    },
  }
}
