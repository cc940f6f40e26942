import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.approvals.list)
export const POST = route(app.approvals.propose)
