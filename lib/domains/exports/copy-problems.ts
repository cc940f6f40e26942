import { read } from '#lib/kernel/use-case.ts'
import { listCopyProblems } from './copy-problems-contract.ts'
import type { PreparedPorts } from './prepared.ts'
import { copiesWithProblem } from './repository.ts'
import { overdueBefore, rememberedFor } from './rules.ts'

const most = 100

/** The copies that the compliance checks count as failed or late, for admins and auditors. */
export const copyProblemList = ({ db }: Pick<PreparedPorts, 'db'>) =>
  read(listCopyProblems, async ({ now }, { query: { scope: basis, problem } }) => {
    const remembered = new Date(now.getTime() - rememberedFor)
    const rows = await copiesWithProblem(db, { basis, remembered, overdue: overdueBefore(now), limit: most }, problem)
    return {
      body: {
        data: rows.map(({ created_at, expires_at, total: _, ...row }) => ({
          ...row,
          created_at: created_at.toISOString(),
          expires_at: expires_at?.toISOString() ?? null,
        })),
        total: rows[0]?.total ?? 0,
      },
      resourceId: 'list',
      details: { count: rows.length },
    }
  })
