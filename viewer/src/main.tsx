import { createRoot } from "react-dom/client";
import { askEarly } from "./api";
import { App, comparison } from "./app";
import { parse } from "./route";
import { restoreScheme } from "./theme";
import "./style.css";

restoreScheme();
const { view, run } = parse(location.hash);
if (view === "comparison") void comparison(); // its file comes while its answers are asked
if (view === "comparison") for (const path of ["comparison", "courses"]) askEarly(`/api/${path}`, { comparison: run });
if (view === "overview") for (const path of ["run", "beliefs"]) askEarly(`/api/${path}`, { run });
const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
