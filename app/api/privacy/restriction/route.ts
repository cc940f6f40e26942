import { app, route } from '#lib/app.ts'

export const GET = route(app.agents.readRestriction)
export const POST = route(app.agents.setRestriction)
