import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useRef, useState } from 'react'
import { useLeaveWarning } from '#components/frame/leave-warning.ts'
import { type ProblemDocument, RequestRefused } from '#lib/client/request.ts'
import { projectPaths } from './endpoints.ts'
import { mediaTypeOf, upload } from './uploading.ts'

export interface RunningUpload {
  name: string
  sent: number
  size: number
  stop: () => void
}

/** The key of one intent: a retry after a lost response uses the same idempotency key. */
function useIntentKey() {
  const intent = useRef<{ of: string; key: string }>(undefined)
  return {
    keyOf: ({ name, size, lastModified }: File, kind: string): string => {
      const of = JSON.stringify([name, size, lastModified, kind])
      if (intent.current?.of !== of) intent.current = { of, key: crypto.randomUUID() }
      return intent.current.key
    },
    forget: () => {
      intent.current = undefined
    },
  }
}

/** Uploads one document at a time. A stopped or refused upload stores nothing. */
export function useDocumentUpload(projectId: string, types: readonly string[]) {
  const t = useTranslations('projects.documents.upload')
  const client = useQueryClient()
  const router = useRouter()
  const [running, setRunning] = useState<RunningUpload>()
  const [problem, setProblem] = useState<ProblemDocument>()
  const [outcome, setOutcome] = useState<{ tone: 'done' | 'info'; title: string }>()
  const { keyOf, forget } = useIntentKey()
  useLeaveWarning(running !== undefined)

  const send = async (file: File, kind: string, done: () => void) => {
    const { name, size } = file
    const query = new URLSearchParams({ name, kind })
    const path = `/api/projects/${encodeURIComponent(projectId)}/documents?${query}`
    const stopping = new AbortController()
    setRunning({ name, sent: 0, size, stop: () => stopping.abort() })
    try {
      await upload(path, file, mediaTypeOf(file, types), keyOf(file, kind), {
        signal: stopping.signal,
        sent: (sent) => setRunning((before) => before && { ...before, sent: Math.min(sent, size) }),
      })
      forget()
      done()
      setOutcome({ tone: 'done', title: t('done', { name }) })
      await client.invalidateQueries({
        predicate: ({ queryKey: [key] }) => typeof key === 'string' && key.startsWith(projectPaths[0] ?? ''),
      })
      router.refresh()
    } catch (error) {
      if (stopping.signal.aborted) setOutcome({ tone: 'info', title: t('stopped', { name }) })
      else if (error instanceof RequestRefused) {
        if (error.problem.code !== 'unreachable' && error.problem.code !== 'idempotency_in_progress') forget()
        setProblem(error.problem)
      } else throw error
    } finally {
      setRunning(undefined)
    }
  }
  return {
    running,
    problem,
    outcome,
    send,
    reset: () => {
      setOutcome(undefined)
      setProblem(undefined)
    },
  }
}
