import type { Transaction } from '#lib/kernel/context.ts'

/** Number of all projects, also closed ones. */
export const countProjects = (tx: Transaction): Promise<number> => tx.project.count()
