import { app, route } from '#lib/app.ts'

export const GET = route(app.agents.readAgent)
export const PATCH = route(app.agents.edit)
