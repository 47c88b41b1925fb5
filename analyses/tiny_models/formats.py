"""How passage and question are put to the bundled models: bare, since they know nothing but questions on passages."""

from routelens.prompts import PromptFormat

FORMAT = PromptFormat(instruction="", question_template="{question}")
