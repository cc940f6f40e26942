import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.projects.messages)
export const POST = route(app.projects.createMessage)
